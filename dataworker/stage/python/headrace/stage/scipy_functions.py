"""scipy.ndimage's zoom, rotate and affine_transform of arrays with two axes, natively (functions.py).

Replaced are the functions in C that these end in. So all that SciPy says of arguments is SciPy's. They are a cubic
spline's filter and its zoom, and the nearest elements. Programs with scans spend most of their time in them.

Why so: docs/adr/0107-rows-and-tensors.md.
"""

from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import scipy
from scipy.ndimage import _nd_image

from .. import _images
from .doors import Entry, Made

_LEAST = 1024  # elements; below, the call is most of the time
_LEAST_SIDE, _MOST_SIDE = 4, 1 << 15
_CONSTANT, _MIRROR = 4, 3  # SciPy's numbers of modes
_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
# A double holds all of their values.
_HELD = frozenset(map(np.dtype, ("bool", "int8", "uint8", "int32", "uint32", "float32", "float64")))


def _is_plane(array: Any, least: int) -> bool:
    if type(array) is not np.ndarray or array.ndim != 2 or array.size < _LEAST:
        return False
    sides = array.shape
    return array.flags.aligned and min(sides) >= least and max(sides) <= _MOST_SIDE


def _is_result(array: Any, like: Any = None) -> bool:
    """May be written from its first element to its last, while `like` is read."""
    if type(array) is not np.ndarray or array.ndim != 2 or not array.size:
        return False
    if not array.flags.c_contiguous or not array.flags.writeable or not array.flags.aligned:
        return False
    return like is None or not np.may_share_memory(array, like)


def _numbers(array: Any, shape: tuple[int, ...]) -> list[float] | None:
    plain = type(array) is np.ndarray and array.dtype == _DOUBLE and array.shape == shape
    return array.ravel().tolist() if plain else None


def _filter(input: Any, order: Any, axis: Any, output: Any, mode: Any) -> Made | None:
    if type(order) is not int or order != 3 or mode not in (_CONSTANT, _MIRROR):
        return None
    if not _is_plane(input, _LEAST_SIDE) or input.dtype not in (_FLOAT, _DOUBLE):
        return None
    if not _is_result(output, None if output is input else input):
        return None
    if output.dtype != _DOUBLE or output.shape != input.shape or axis not in (0, 1):
        return None
    steps = (step % input.itemsize for step in input.strides)
    if any(steps) or not _images.filter_spline(input, int(axis), output):
        return None
    return Made(None, None)


def _zoom(
    input: Any,
    zoom: Any,
    shift: Any,
    output: Any,
    order: Any,
    mode: Any,
    cval: Any,
    npad: Any,
    grid_mode: Any,
) -> Made | None:
    if type(order) is not int or order != 3 or mode != _CONSTANT or shift is not None:
        return None
    if npad != 0 or grid_mode or type(cval) not in (int, float):
        return None
    if not _is_plane(input, _LEAST_SIDE) or not input.flags.c_contiguous or input.dtype != _DOUBLE:
        return None
    by = _numbers(zoom, (2,))
    if by is None or not _is_result(output, input) or output.dtype not in (_FLOAT, _DOUBLE):
        return None
    if max(output.shape) > _MOST_SIDE or not _images.zoom_spline(input, by, float(cval), output):
        return None
    return Made(None, None)


def _nearest(
    input: Any,
    mapping: Any,
    coordinates: Any,
    matrix: Any,
    shift: Any,
    output: Any,
    order: Any,
    mode: Any,
    cval: Any,
    npad: Any,
    arguments: Any,
    keywords: Any,
) -> Made | None:
    # By `is`: an array of coordinates compares each of its elements, and `mapping` is the program's.
    if any(given is not None for given in (mapping, coordinates, arguments, keywords)):
        return None
    if mode != _CONSTANT:
        return None
    if type(order) is not int or order != 0 or npad != 0 or type(cval) not in (int, float) or cval:
        return None
    if not _is_plane(input, 1) or not input.flags.c_contiguous or input.dtype not in _HELD:
        return None
    rows, moved = _numbers(matrix, (2, 2)), _numbers(shift, (2,))
    if rows is None or moved is None or not _is_result(output, input):
        return None
    if output.dtype != input.dtype or max(output.shape) > _MOST_SIDE:
        return None
    fractions = input.dtype.kind == "f"
    if not _images.take_nearest(_bytes_of(input), fractions, rows, moved, _bytes_of(output)):
        return None
    return Made(None, None)


def _bytes_of(array: Any) -> Any:
    """A view: elements of bytes."""
    return array.view(np.uint8).reshape(*array.shape, array.itemsize)


# Both ways, on arrays of our own. What is replaced writes into its argument.


def _alike(real: Callable[..., Any], native: Callable[..., Any], calls: Any) -> bool:
    for output, arguments in calls:
        theirs, mine = output.copy(), output.copy()
        real(*arguments(theirs))
        if native(*arguments(mine)) is None or mine.tobytes() != theirs.tobytes():
            return False
    return True


def _noise(number: int, height: int, width: int, dtype: Any) -> Any:
    random = np.random.Generator(np.random.PCG64(number))
    made = random.standard_normal((height, width)) * 300
    made[random.random(made.shape) < 0.1] = -0.0
    return made.astype(dtype)


_SIZES = ((64, 45), (33, 57), (4, 300), (120, 16))


def _filter_calls() -> Iterator[tuple[Any, Any]]:
    for number, size in enumerate(_SIZES):
        given = _noise(number, *size, (np.float32, np.float64)[number % 2])
        for axis, mode in ((0, _CONSTANT), (1, _MIRROR)):
            yield (
                np.zeros(size),
                lambda out, given=given, axis=axis, mode=mode: (given, 3, axis, out, mode),
            )


def _zoom_calls() -> Iterator[tuple[Any, Any]]:
    for number, size in enumerate(_SIZES):
        given = _noise(number, *size, np.float64)
        for wanted in ((40, 31), (77, 91), (5, 8)):
            zoom = (np.array(size) - 1) / (np.array(wanted) - 1)
            output = np.zeros(wanted, (np.float32, np.float64)[number % 2])
            yield (
                output,
                lambda out, given=given, zoom=zoom: (
                    given,
                    zoom,
                    None,
                    out,
                    3,
                    _CONSTANT,
                    7.5,
                    0,
                    False,
                ),
            )


def _nearest_calls() -> Iterator[tuple[Any, Any]]:
    kinds = np.uint8, np.float32, np.float64, np.int32
    for number, (size, kind) in enumerate(zip(_SIZES, kinds, strict=True)):
        given = _noise(number, *size, np.float64)
        given = given.astype(kind) if number in (1, 2) else given.astype(np.int64).astype(kind)
        angle = 0.3 + 0.9 * number
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        moved = np.array([3.25 - number, 1.5 * number])
        yield (
            np.zeros((50, 60), kind),
            lambda out, given=given, turn=turn, moved=moved: (
                *(given, None, None, turn, moved),
                *(out, 0, _CONSTANT, 0.0, 0, None, None),
            ),
        )


_FUNCTIONS = (
    ("spline_filter1d", _filter, _filter_calls),
    ("zoom_shift", _zoom, _zoom_calls),
    ("geometric_transform", _nearest, _nearest_calls),
)


def entries() -> Iterator[Entry]:
    library = f"SciPy {scipy.__version__}"
    for name, native, calls in _FUNCTIONS:
        real = getattr(_nd_image, name)

        def alike(real: Any = real, native: Any = native, calls: Any = calls) -> bool:
            return _alike(real, native, calls())

        yield Entry(
            *(_nd_image, name, BuiltinFunctionType, library, native),
            pictures=False,
            alike=alike,
        )
