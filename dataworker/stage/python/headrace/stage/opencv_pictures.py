"""cv2.resize, cv2.warpAffine and numpy.ascontiguousarray of 8-bit pictures, natively (functions.py).

They take arrays of uint8 [H, W, 3] whose rows may have gaps, as a crop has. The last one is NumPy's, but
programs with OpenCV spend more time in it than in most of OpenCV's: it makes RGB of BGR, and planes of
pixels. Everything else, and small pictures, are the library's.
"""

from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Any

import cv2
import numpy as np

from .. import _images
from .doors import Entry, Made

_LEAST = 2048  # bytes of a result; below, the call is most of the time
_PIXELS = np.dtype(np.uint8)

_OUTSIDE = 3  # values for what is outside of a picture


def _is_picture(array: Any) -> bool:
    return type(array) is np.ndarray and array.dtype == np.uint8 and array.ndim == 3


def _empty(dsize: Any) -> Any:
    """A result of (width, height)."""
    width, height = dsize
    if type(width) is not int or type(height) is not int or min(width, height) <= 0:
        return None
    return np.empty((height, width, 3), np.uint8) if 3 * height * width >= _LEAST else None


def _zoom(source: Any, made: Any) -> tuple[bool, bool]:
    return source.shape[0] < made.shape[0], source.shape[1] < made.shape[1]


_RESIZES = {cv2.INTER_LINEAR: _images.resize_linear, cv2.INTER_AREA: _images.resize_area}


def _resize(
    src: Any,
    dsize: Any,
    dst: Any = None,
    fx: Any = 0,
    fy: Any = 0,
    interpolation: Any = cv2.INTER_LINEAR,
) -> Made | None:
    native = _RESIZES.get(interpolation) if type(interpolation) is int else None
    if native is None or dst is not None or not _is_picture(src) or dsize is None:
        return None
    made = _empty(dsize)  # with a size, fx and fy mean nothing
    if made is None or (fx, fy) != (0, 0) or not native(src, made):
        return None
    return Made((interpolation, _zoom(src, made)), made)


def _warp(
    src: Any,
    M: Any,
    dsize: Any,
    dst: Any = None,
    flags: Any = cv2.INTER_LINEAR,
    borderMode: Any = cv2.BORDER_CONSTANT,
    borderValue: Any = None,
) -> Made | None:
    if dst is not None or type(flags) is not int or type(borderMode) is not int:
        return None
    inverted = flags == cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    if not _is_picture(src) or not (inverted or flags == cv2.INTER_LINEAR):
        return None
    plain = type(M) is np.ndarray and M.dtype in (np.float32, np.float64) and M.shape == (2, 3)
    outside = _values(borderValue)
    made = _empty(dsize)
    if not plain or outside is None or made is None:
        return None
    matrix = M.astype(np.float64).ravel().tolist()
    if not _images.warp_linear(src, matrix, inverted, borderMode, outside, made):
        return None
    return Made((borderMode, inverted), made)


def _values(value: Any) -> list[int] | None:
    """Whole ones, as a tuple or list; OpenCV rounds others, and the kernel takes bytes alone."""
    if value is None:
        return [0] * _OUTSIDE
    if type(value) not in (tuple, list) or not _OUTSIDE <= len(value) <= _OUTSIDE + 1:
        return None
    whole = [int(v) for v in value[:_OUTSIDE] if isinstance(v, int | float) and v == int(v)]
    return whole if len(whole) == _OUTSIDE else None


def _contiguous(a: Any, dtype: Any = None, *, like: Any = None) -> Made | None:
    if not _is_picture(a) or a.nbytes < _LEAST or a.flags.c_contiguous:
        return None
    # By `is`: NumPy's dtype of doubles equals None.
    if like is not None or not any(dtype is one for one in (None, np.uint8, _PIXELS)):
        return None
    made = np.empty(a.shape, np.uint8)
    if not _images.copy_pixels(a, made):
        return None
    return Made(tuple(step > 0 for step in a.strides), made)


def _picture(height: int, width: int) -> Any:
    """The same in every process. Rough, so that each rounding shows."""
    return np.random.Generator(np.random.PCG64(height * width)).integers(
        0, 256, (height, width, 3), np.uint8
    )


def _resize_trials() -> Iterator[tuple[Any, ...]]:
    for interpolation in _RESIZES:
        for size, dsize in (((67, 90), (40, 61)), ((91, 64), (57, 63))):
            yield _picture(*size)[1:, 2:], dsize, None, 0, 0, interpolation
    for size, dsize in (((33, 47), (59, 38)), ((31, 29), (71, 66))):
        yield _picture(*size)[1:, 2:], dsize, None, 0, 0, cv2.INTER_LINEAR


def _warp_trials() -> Iterator[tuple[Any, ...]]:
    for number, border in enumerate((cv2.BORDER_CONSTANT, cv2.BORDER_REFLECT_101) * 2):
        matrix = cv2.getRotationMatrix2D((31.5, 20.25), 77.7 * number + 3, 0.5 + 0.4 * number)
        yield _picture(53, 71), matrix, (96, 80), None, cv2.INTER_LINEAR, border, (9, 130, 250)


def entries(library: str) -> Iterator[Entry]:
    def entry(owner: Any, name: str, native: Any, trials: Any, library: str) -> Entry:
        own = BuiltinFunctionType
        return Entry(owner, name, own, library, native, trials=trials, pictures=False)

    yield entry(cv2, "resize", _resize, _resize_trials, library)
    if int(cv2.__version__.split(".")[0]) >= 5:  # before, in fixed point
        yield entry(cv2, "warpAffine", _warp, _warp_trials, library)
    yield entry(np, "ascontiguousarray", _contiguous, lambda: iter(()), f"NumPy {np.__version__}")
