"""What is known of code that a found function may use: which libraries are free of the clock, the environment,
identities and state of their own, and which names are not, wherever they stand. What is not known is refused.

The tables are of names, as code spells them: a search reads code before it runs (proven_content.py), and a trace meets
functions while it does (call_trace.py). Random numbers are no matter of the tables alone: the generators' states are
compared around each call, too (witness.py).
"""

import functools
import types

# Top-level modules whose functions depend on arguments, files and random generators alone, as a rule.
_KNOWN = frozenset(
    """
    builtins math cmath operator _operator itertools functools _functools collections _collections
    re _sre sre_compile sre_parse string _string struct _struct json _json csv _csv io _io codecs _codecs
    encodings pathlib ntpath posixpath genericpath os posix fnmatch stat copy copyreg enum typing
    _typing types dataclasses abc _abc _py_abc _weakrefset weakref _weakref contextlib numbers fractions
    unicodedata html xml textwrap difflib stringprep hashlib _hashlib _blake2 _md5 _sha1 _sha2 _sha256
    _sha512 _sha3 binascii base64 zlib gzip bz2 _bz2 lzma _lzma _compression zipfile tarfile wave
    chunk audioop array heapq _heapq bisect _bisect statistics _statistics ast token tokenize keyword
    pickle _pickle _compat_pickle marshal datetime _datetime threading _thread typing_extensions
    numpy scipy torch torchvision torchaudio PIL cv2 skimage librosa soundfile _soundfile _cffi_backend cffi
    pandas pyarrow pydicom nibabel tifffile imageio lazy_loader packaging attr
    albumentations albucore opt_einsum numexpr sklearn python_speech_features resampy soxr
    tokenizers sentencepiece regex _regex nltk_data headrace
    """.split()
)  # fmt: skip

# Parts of these that are not. With a dot at the end: all beneath.
_DENIED_MODULES = (
    "numpy.random", "torch.random", "torch.cuda", "torch.distributed", "torch.multiprocessing",
    "torch.hub", "torch.profiler", "torch.autograd.profiler", "torch.distributions", "torch.func",
    "scipy.stats", "sklearn.utils.random", "pandas.io.sql", "pandas.io.clipboard", "pandas.io.html",
    "albumentations.core.composition", "xml.sax.expatreader", "torch.monitor", "torch.utils.cpp_extension",
)  # fmt: skip

# Names of functions that depend on more than their arguments, in libraries as in the program's own code: the
# clock, the environment, processes, random numbers, identity, what a folder holds, output.
_DENIED_NAMES = frozenset(
    """
    now today utcnow fromtimestamp localtime gmtime ctime time_ns perf_counter perf_counter_ns monotonic
    monotonic_ns process_time process_time_ns thread_time sleep getenv environ environb getenvb putenv
    urandom getrandom getpid getppid gettid get_ident get_native_id current_thread active_count getuid
    geteuid getlogin gethostname uname cpu_count sched_getaffinity getloadavg uuid1
    uuid4 token_bytes token_hex randbits SystemRandom default_rng RandomState SeedSequence Generator
    get_worker_info getsignal listdir scandir walk fwalk glob iglob rglob iterdir exists lexists isfile
    isdir islink ismount is_file is_dir is_symlink is_mount getmtime getatime getctime getsize stat
    lstat statvfs readlink realpath resolve samefile samestat getcwd getcwdb cwd expanduser
    expandvars mkstemp mkdtemp gettempdir NamedTemporaryFile TemporaryFile TemporaryDirectory
    warn warn_explicit print input breakpoint exec eval setattr delattr globals locals vars
    id hash __hash__ __dict__ __globals__ __code__ __closure__ __defaults__ __kwdefaults__ __weakref__
    __subclasses__ __del__ __setstate__ __setattr__ __delattr__ __getattribute__ __reduce__ __reduce_ex__
    __sizeof__ __builtins__ __import__ f_back f_locals f_globals gi_frame tb_frame _getframe currentframe
    getrefcount getsizeof getallocatedblocks get_objects get_referrers get_referents getrecursionlimit
    setrecursionlimit setprofile settrace gettrace getprofile getswitchinterval modules
    WeakKeyDictionary WeakValueDictionary WeakSet finalize getweakrefcount getweakrefs
    Thread Process Pool ThreadPoolExecutor ProcessPoolExecutor Lock RLock Event ContextVar
    popen system spawnv fork kill Popen check_output run_command
    rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial poisson seed
    manual_seed initial_seed set_rng_state get_rng_state normal_ uniform_ random_ exponential_ cauchy_
    geometric_ log_normal_ getstate setstate get_state set_state randu setRNGSeed shuffle_ getTickCount
    getTickFrequency set_num_threads setNumThreads set_default_dtype set_printoptions seterr errstate
    setUseOptimized set_grad_enabled setlocale getlocale localeconv getdefaultencoding
    datetime64 Timestamp data_ptr __array_interface__ ctypes __cuda_array_interface__ untyped_storage
    storage is_shared memory_info _version refcount write writelines write_bytes write_text savez save
    tofile imwrite savetxt savez_compressed to_csv to_parquet unlink rmdir mkdir makedirs
    touch chdir symlink link truncate interned intern lru_cache cache cached_property cache_info cache_clear
    """.split()
)  # fmt: skip

# Of these, words that attributes of objects have as well: only a call that is seen counts.
_WORDS = frozenset(
    "id hash input print eval exec vars locals globals stat exists cache seed modules".split()
)
# Of builtins and classes of Python, what libraries' code may call all the same.
_OF_LIBRARIES = frozenset(
    """
    id hash setattr delattr vars locals globals _getframe intern write print_ Generator datetime64
    Timestamp ctypes __array_interface__ data_ptr untyped_storage storage lru_cache cache resolve
    set_grad_enabled errstate seterr compile __reduce__ __reduce_ex__ __setattr__ __setstate__ __dict__
    is_shared _version local Lock RLock modules __hash__ __code__ __sizeof__ __del__ glob walk time
    refcount truncate save link cached_property writelines remove __delattr__ __subclasses__ getrefcount
    write_ seed finalize cpu_count is_file __import__ eval exec now
    """.split()
)  # fmt: skip
# Of modules that are known, functions in C that are not: their names are the only ones that may be called.
_ONLY = {
    "posix": frozenset(("fspath", "fstat", "lseek", "read", "close", "fsencode", "fsdecode", "open")),
    "_thread": frozenset(("allocate_lock", "RLock", "acquire", "release", "__enter__", "__exit__",
                          "_is_owned", "get_ident", "lock")),
    "os": frozenset(("fspath", "_fspath", "fsencode", "fsdecode", "sep", "path", "PathLike", "linesep",
                     "altsep", "extsep", "pathsep", "curdir", "pardir", "SEEK_SET", "SEEK_CUR", "SEEK_END",
                     "name", "fstat")),
    "threading": frozenset(("RLock", "Lock", "__init__", "__enter__", "__exit__")),
}  # fmt: skip


# What an import statement within a function calls, where the module is there already; else it calls others, too.
_OF_IMPORTS = frozenset(("parent", "_handle_fromlist"))


@functools.lru_cache(maxsize=8192)
def refuses(module: str, name: str, own: bool = True) -> str:
    """Why a function or class of a library is refused; empty: it is not. `own`: code of the program's calls it."""
    root = module.partition(".")[0]
    if root not in _KNOWN or any(_is_in(module, one) for one in _DENIED_MODULES):
        return f"{module}.{name} is not known to depend on its arguments alone"
    only = _ONLY.get(module)
    last = name.rpartition(".")[2]
    if only is not None:
        plumbing = (
            last.startswith("__") and last not in _DENIED_NAMES
        )  # of classes, such as __subclasshook__
        allowed = last in only or plumbing
    else:
        allowed = last not in _DENIED_NAMES or (not own and last in _OF_LIBRARIES)
    return "" if allowed else f"{module}.{name} depends on more than its arguments"


def _is_in(module: str, denied: str) -> bool:
    return module == denied or module.startswith(denied + ".")


@functools.lru_cache(maxsize=2048)
def refuses_names(code: types.CodeType) -> str:
    """Why code of the program's is refused for a name that it, or code inside of it, uses; empty: it is not."""
    for name in code.co_names:
        if name in _DENIED_NAMES and name not in _WORDS:
            return f"it uses {name}, which depends on more than arguments"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and (why := refuses_names(constant)):
            return why
    return ""


@functools.lru_cache(maxsize=8192)
def refuses_library_code(module: str, name: str) -> str:
    """Why a function in Python of a library, which was called, is refused."""
    if module == "importlib._bootstrap" and name in _OF_IMPORTS:
        return ""
    return refuses(module, name, own=False)
