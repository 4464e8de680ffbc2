"""Builtins and the standard library."""

import io
import logging
from typing import Any

from ..arguments import Arguments
from ..frames import Frame
from ..interpreter import Interpreter
from ..proof import Code
from ..values import BOOL, Value
from .builtin_calls import (
    _bool,
    _callable,
    _chain,
    _choice,
    _container,
    _copy,
    _exit,
    _extreme,
    _filter,
    _getattr,
    _hasattr,
    _hash,
    _identity,
    _isinstance,
    _iter,
    _len,
    _map,
    _next,
    _number,
    _open,
    _partial,
    _print,
    _reduce,
    _setattr,
    _slice,
    _sorted,
    _sum,
    _text,
    _through,
    _truths,
    _tuples,
    _type,
)
from .entry import ALIAS, FRESH, SCALAR, Entry, apply


def _outside(text: str) -> Entry:
    return Entry(refuse=(Code.READS_OUTSIDE, text))


def _effect(text: str) -> Entry:
    return Entry(refuse=(Code.OUTSIDE_EFFECT, text))


def _special(function: Any) -> Entry:
    return Entry(special=function)


_MATH = (
    "sqrt sin cos tan asin acos atan atan2 floor ceil trunc log log2 log10 log1p exp expm1 pow fabs "
    "hypot degrees radians gcd isnan isinf isclose isfinite copysign fmod modf frexp ldexp erf erfc "
    "gamma lgamma sinh cosh tanh factorial comb perm prod dist lcm fsum remainder cbrt exp2 "
    "isqrt asinh acosh atanh"
)
_RANDOM = (
    "random randint uniform gauss normalvariate randrange betavariate expovariate triangular "
    "getrandbits lognormvariate vonmisesvariate gammavariate paretovariate weibullvariate randbytes"
)
_PATH = (
    "join basename dirname exists isfile isdir splitext split abspath expanduser getsize normpath "
    "relpath commonpath commonprefix isabs islink realpath getmtime expandvars normcase"
)

_FOURIER = (
    "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn dct idct dst idst "
    "dctn idctn dstn idstn"
)


def _fourier(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """`overwrite_x`, at the fifth place or later, allows them to use up what they are given."""
    may_write = len(given.args) > 4 or given.rest or given.more or "overwrite_x" in given.named
    return apply(it, frame, "scipy.fft", given, FRESH, None, (0,) if may_write else ())


ENTRIES = {
    "builtins": [
        *((cls.__name__, _special(_container(cls))) for cls in (list, tuple, dict, set, frozenset)),
        ("zip", _special(_through(zip, True))), ("enumerate", _special(_through(enumerate, True))),
        ("reversed", _special(_through(reversed))), ("iter", _special(_iter)),
        ("next", _special(_next)), ("map", _special(_map)), ("filter", _special(_filter)),
        ("sorted", _special(_sorted)), ("max min", _special(_extreme)), ("sum", _special(_sum)),
        ("all any", _special(_truths)), ("bool", _special(_bool)), ("len", _special(_len)),
        ("str repr ascii format", _special(_text)), ("print", _special(_print)),
        ("int", _special(_number(int))), ("float", _special(_number(float))),
        ("complex", _special(_number(complex))), ("abs", _special(_number(abs))),
        ("round", _special(_number(round))), ("isinstance", _special(_isinstance)),
        ("type", _special(_type)), ("getattr", _special(_getattr)),
        ("hasattr", _special(_hasattr)), ("setattr", _special(_setattr)), ("open", _special(_open)),
        ("callable", _special(_callable)), ("slice", _special(_slice)), ("hash", _special(_hash)),
        ("bytes bytearray range chr ord bin hex oct divmod pow memoryview", Entry(ALIAS)),
        ("issubclass", _special(lambda it, f, t, g: BOOL)),
        ("object", Entry(FRESH)),
        ("id", _outside("which is another in each process")),
        ("exec eval compile __import__ vars dir delattr globals locals breakpoint",
         Entry(refuse=(Code.UNKNOWN_CONSTRUCT, "which is not followed"))),
        ("input", _outside("which reads the terminal")),
    ],
    "math": [(_MATH, Entry(SCALAR))],
    "cmath": [("exp sqrt phase polar rect", Entry(SCALAR))],
    "random": [
        (_RANDOM, Entry(SCALAR, draws=True)), ("choice choices sample", _special(_choice)),
        ("shuffle", Entry(FRESH, None, (0,), draws=True)),
        ("seed", Entry(SCALAR, seeded=True, draws=True)),
        ("getstate", Entry(FRESH, draws=True)), ("setstate", Entry(SCALAR, draws=True)),
        ("SystemRandom", _outside("which draws from the system")),
    ],
    "os.path": [(_PATH, Entry(ALIAS))],
    "os": [
        ("listdir stat fspath getcwd path.join environ.get getenv cpu_count fsdecode", Entry(FRESH)),
        ("walk scandir", Entry(FRESH)),
        ("urandom getpid getppid times getrandom", _outside("which is another in each process")),
        ("remove unlink rename replace makedirs mkdir rmdir system popen write open fork kill chdir "
         "putenv symlink link truncate utime chmod removedirs pipe execv",
         _effect("which acts outside of the process")),
    ],
    "posixpath": [(_PATH, Entry(ALIAS))],
    "time": [("time perf_counter monotonic time_ns perf_counter_ns monotonic_ns process_time "
              "localtime gmtime strftime ctime", _outside("the clock")),
             ("sleep", Entry(SCALAR))],
    "datetime": [("datetime.now datetime.today date.today datetime.utcnow", _outside("the clock"))],
    "uuid": [("uuid1 uuid4", _outside("which is another each time"))],
    "secrets": [("token_hex token_bytes randbelow choice", _outside("which draws from the system"))],
    "json": [("loads load dumps", Entry(FRESH)), ("dump", _effect("which writes files"))],
    "re": [("match search fullmatch findall finditer split sub subn compile escape", Entry(FRESH))],
    "io": [("BytesIO", Entry(FRESH, io.BytesIO)), ("StringIO", Entry(FRESH, io.StringIO)),
           ("open", _special(_open))],
    "glob": [("glob iglob", Entry(FRESH))],
    "functools": [("reduce", _special(_reduce)), ("partial", _special(_partial))],
    "copy": [("copy deepcopy", _special(_copy))],
    "itertools": [
        ("chain chain.from_iterable", _special(_chain)),
        ("product combinations permutations zip_longest combinations_with_replacement",
         _special(_tuples)),
        ("islice", _special(lambda it, f, t, g: _chain(it, f, t, type(g)([g.at(0)])))),
    ],
    "collections": [
        ("OrderedDict", _special(_container(dict))), ("deque", _special(_container(list))),
        ("Counter", _special(_container(dict))),
    ],
    "bisect": [("bisect bisect_left bisect_right", Entry(SCALAR)),
               ("insort insort_left insort_right", Entry(SCALAR, None, (0,)))],
    "heapq": [("nlargest nsmallest", Entry(ALIAS)),
              ("heappush heappop heapify heappushpop heapreplace", Entry(ALIAS, None, (0,)))],
    "hashlib": [("md5 sha1 sha256 sha512 blake2b new", Entry(FRESH))],
    "zlib": [("crc32 adler32 decompress compress", Entry(SCALAR))],
    "base64": [("b64decode b64encode", Entry(SCALAR))],
    "struct": [("unpack pack calcsize unpack_from", Entry(FRESH))],
    "string": [("capwords", Entry(SCALAR))],
    "unicodedata": [("normalize category name", Entry(SCALAR))],
    "contextlib": [("suppress nullcontext", Entry(FRESH))],
    "warnings": [("warn", _special(_print)), ("simplefilter filterwarnings", Entry(SCALAR)),
                 ("catch_warnings", Entry(FRESH))],
    "typing": [("cast", _special(_identity))],
    "pathlib": [("Path PurePath PosixPath", Entry(FRESH, None))],
    "csv": [("reader DictReader", Entry(ALIAS))],
    "logging": [("getLogger", Entry(FRESH, logging.Logger)),
                ("debug info warning error critical log exception", _special(_print))],
    "sys": [("exit", _special(_exit)), ("getsizeof", Entry(SCALAR))],
    "gzip": [("decompress", Entry(SCALAR)), ("open", _special(_open))],
    "tarfile": [("open", Entry(FRESH, mode=1))],
    "pandas": [("isna isnull notna to_datetime to_numeric", Entry(FRESH)),
               ("read_csv read_parquet read_json", Entry(FRESH))],
    "pickle": [("dump", _effect("which writes files")), ("dumps", Entry(FRESH))],
    "collections.abc": [],
    "scipy.ndimage": [("gaussian_filter zoom rotate shift affine_transform map_coordinates label "
                       "median_filter binary_dilation binary_erosion distance_transform_edt "
                       "gaussian_filter1d uniform_filter sobel find_objects", Entry(FRESH))],
    "scipy.signal": [("resample fftconvolve convolve butter lfilter sosfilt filtfilt spectrogram stft "
                      "istft decimate resample_poly medfilt", Entry(FRESH))],
    "scipy.io.wavfile": [("read", Entry(FRESH))],
    "scipy.fft": [(_FOURIER, _special(_fourier)),
                  ("fftshift ifftshift fftfreq rfftfreq next_fast_len", Entry(FRESH))],
}  # fmt: skip
