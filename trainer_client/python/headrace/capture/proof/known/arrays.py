"""numpy."""

from typing import Any

import numpy as np

from ..arguments import Arguments
from ..frames import Frame
from ..interpreter import Interpreter
from ..proof import Code, Doubt
from ..values import Value, Vector
from .entry import ALIAS, FRESH, SCALAR, Entry, apply, check_mode

_ARRAY = np.ndarray

_FRESH = (
    "abs absolute all allclose amax amin angle any append apply_along_axis argmax argmin "
    "argpartition argsort argwhere around array_equal average bincount block "
    "clip column_stack compress concatenate convolve corrcoef copy correlate cov cross cumprod cumsum "
    "deg2rad delete digitize dot dstack ediff1d empty_like eye fix "
    "full full_like gradient hamming hanning histogram histogram2d hstack identity "
    "inner insert interp intersect1d in1d isclose isin kron lexsort linspace logspace "
    "max mean median min nanmax nanmean nanmin nanstd nansum ndim "
    "nonzero ones_like outer pad partition percentile piecewise polyfit polyval prod ptp "
    "quantile rad2deg repeat rint roll round searchsorted setdiff1d setxor1d "
    "shape size sort stack std sum take take_along_axis tensordot tile trace tri tril tril_indices "
    "triu triu_indices trapezoid union1d unique unravel_index ravel_multi_index unwrap vander var "
    "vdot vstack where zeros_like logical_xor fromstring geomspace count_nonzero "
    "float_power heaviside isscalar iscomplexobj result_type can_cast promote_types finfo iinfo "
    "flatnonzero extract indices bartlett blackman kaiser array2string array_repr "
    "linalg.norm linalg.inv linalg.det linalg.solve linalg.svd linalg.eig linalg.eigh linalg.pinv "
    "linalg.lstsq linalg.matrix_rank linalg.qr linalg.cholesky linalg.eigvals linalg.eigvalsh "
    "fft.fft fft.ifft fft.fft2 fft.ifft2 fft.rfft fft.irfft fft.fftshift fft.ifftshift fft.fftfreq "
    "fft.fftn fft.ifftn fft.rfft2 fft.irfft2 fft.rfftfreq"
)
_VIEWS = (
    "asarray asanyarray ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d "
    "broadcast_to broadcast_arrays diag diagonal dsplit flip fliplr flipud hsplit moveaxis "
    "permute_dims ravel real require reshape rot90 split squeeze swapaxes transpose triu vsplit "
    "resize expand_dims imag array_split rollaxis frombuffer einsum diff meshgrid select choose "
    "lib.stride_tricks.sliding_window_view ndarray.view as_strided"
)
_DRAWS = (
    "rand randn randint random random_sample ranf sample uniform normal beta binomial "
    "exponential gamma geometric laplace logistic lognormal multinomial multivariate_normal poisson "
    "standard_normal triangular dirichlet vonmises weibull pareto rayleigh permutation "
    "random_integers bytes standard_cauchy zipf power gumbel chisquare"
)


def _choice(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """A choice of an array's entries: with a size a new array, otherwise one entry."""
    it.draws()
    sized = len(given.args) > 1 or "size" in given.named
    return apply(it, frame, "choice", given, FRESH, Vector if sized else None)


def _file(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    name, word = ("np.memmap", "mode") if thing is np.memmap else ("np.load", "mmap_mode")
    mode = given.at(2 if thing is np.memmap else 1, word)
    if not mode and thing is np.memmap:
        raise Doubt(Code.OUTSIDE_EFFECT, "calls np.memmap in a mode that may write")
    check_mode(mode, name)
    if given.at(2, "allow_pickle") and thing is np.load:
        raise Doubt(Code.UNKNOWN_CALL, "calls np.load with allow_pickle, which runs any code")
    return apply(it, frame, name, given, FRESH, _ARRAY)


ENTRIES = {
    "numpy": [
        ("dot concatenate", Entry(FRESH, _ARRAY, most=2)),
        (_FRESH, Entry(FRESH, _ARRAY)),
        (_VIEWS, Entry(ALIAS, _ARRAY)),
        ("array zeros ones empty", Entry(FRESH, _ARRAY)),
        ("arange", Entry(FRESH, Vector)),
        ("load memmap", Entry(special=_file)),
        ("loadtxt genfromtxt fromfile", Entry(FRESH, _ARRAY)),
        ("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ "
         "complex64 complex128 dtype", Entry(ALIAS, None)),
        ("copyto put place putmask fill_diagonal put_along_axis", Entry(FRESH, None, (0,))),
        ("iscomplex isreal issubdtype", Entry(SCALAR)),
        ("errstate", Entry(FRESH, np.errstate)),
        ("ndenumerate ndindex", Entry(ALIAS, _ARRAY)),
    ],
    "numpy.random": [
        (_DRAWS, Entry(FRESH, _ARRAY, draws=True)),
        ("choice", Entry(special=_choice)),
        ("shuffle", Entry(FRESH, None, (0,), draws=True)),
        ("seed", Entry(SCALAR, draws=True, seeded=True)),
        ("default_rng", Entry(FRESH, np.random.Generator, seeded=True, draws=True)),
        ("RandomState", Entry(FRESH, np.random.RandomState, seeded=True, draws=True)),
        ("get_state", Entry(FRESH, draws=True)),
        ("set_state", Entry(SCALAR, draws=True)),
    ],
}  # fmt: skip


def ufunc(thing: Any) -> Entry | None:
    """np.add and the like: what is given beyond the inputs is written to."""
    if not isinstance(thing, np.ufunc):
        return None
    name, inputs = thing.__name__, thing.nin
    if getattr(np, name, None) is not thing:
        return None
    return Entry(FRESH, _ARRAY, most=inputs, name=f"np.{name}")
