"""numpy.random.shuffle of rows, and numpy.sum, all and any along a short last axis, by quicker functions of NumPy's
own (functions.py). Programs with points, boxes and rows of tables spend much of their time in them.

numpy.sum itself stays in its place: programs compare it by `is` and pickle it. What is replaced is the function that
it ends in.

The shuffle swaps rows through Python's buffers, 350 ns each. What it draws depends on the number of rows alone. So
it shuffles their numbers, and the rows are taken once. The sums go along three numbers at a time, 11 ns each. Columns
are added instead: in the same order, each sum rounded as often.

Why so: docs/adr/0107-rows-and-tensors.md.
"""

import sys
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from .doors import Entry, Made

_LEAST_ROWS = 64  # of a shuffle
_MOST_BYTES = 256 << 20  # that a shuffle copies
_LEAST_VALUES = 2048  # of a sum; below, the calls are most of the time
_COLUMNS = range(2, 8)  # from eight on, NumPy adds in another order
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_BOOL = np.dtype(bool)
# What NumPy's sums begin with: a zero of one sign or the other, as the sum of zeros tells.
_NOTHING = float(np.add.reduce(np.full((2, 2), -0.0), 1)[0])


def _shuffled(x: Any, shuffle: Callable[[Any], None]) -> bool:
    """Shuffles the rows as `shuffle` does, which is of NumPy's RandomState. False, with nothing drawn: it has to."""
    if type(x) is not np.ndarray or x.ndim < 2 or len(x) < _LEAST_ROWS:
        return False
    if x.dtype.hasobject or not x.flags.writeable or not 0 < x.nbytes <= _MOST_BYTES:
        return False
    if not x.flags.c_contiguous or not x.flags.aligned:
        return False  # it would be copied after the draw, for which there may be no memory
    try:
        rows, order = np.empty(x.shape, x.dtype), np.arange(len(x))
    except MemoryError:
        return False
    shuffle(order)
    np.take(x, order, 0, rows, "clip")
    x[...] = rows
    return True


def _shuffle(x: Any) -> Made | None:
    return Made(None, None) if _shuffled(x, np.random.mtrand._rand.shuffle) else None


def _shuffles_alike() -> bool:
    """By generators of their own, from which the program draws nothing."""
    for seed, shape in enumerate(((64, 4), (257, 1), (1000, 2, 3), (70, 5))):
        mine, theirs = np.random.RandomState(seed), np.random.RandomState(seed)
        given = theirs.random_sample(shape).astype((np.float32, np.float64, np.int64)[seed % 3])
        mine.random_sample(shape)
        made = given.copy()
        if not _shuffled(made, mine.shuffle):
            return False
        theirs.shuffle(given)
        states: list[Any] = [one.get_state() for one in (mine, theirs)]
        if (
            states[0][1].tobytes() != states[1][1].tobytes()
            or mine.random_sample() != theirs.random_sample()
        ):
            return False
        if made.tobytes() != given.tobytes():
            return False
    return True


def _is_long(a: Any, axis: Any) -> bool:
    """Rows of a few values each, to be gathered by row."""
    if type(axis) is not int or type(a) is not np.ndarray or a.ndim != 2:
        return False
    return axis in (1, -1) and a.shape[1] in _COLUMNS and a.size >= _LEAST_VALUES


def _sum(a: Any, axis: Any = None) -> Made | None:
    if not _is_long(a, axis) or a.dtype not in _FLOATS:
        return None
    with np.errstate(over="raise", invalid="raise"):  # NumPy has words of its own for it
        made = a[:, 0] + a[:, 1]
        for column in range(2, a.shape[1]):
            made += a[:, column]
        made += _NOTHING
    lowest = made.min()
    # Of two that are no numbers, either may be the sum.
    return Made((a.dtype.char, a.shape[1]), made) if lowest == lowest else None


def _gathered(operator: Any, a: Any, axis: Any) -> Made | None:
    if not _is_long(a, axis) or a.dtype is not _BOOL:
        return None
    made = operator(a[:, 0], a[:, 1])
    for column in range(2, a.shape[1]):
        operator(made, a[:, column], made)
    return Made((operator.__name__, a.shape[1]), made)


def _reduced(
    a: Any, ufunc: Any, _method: Any, axis: Any, dtype: Any, out: Any, **more: Any
) -> Made | None:
    """`more`: keepdims, initial and where, if they are given."""
    if dtype is not None or out is not None:
        return None
    if any(value is not np._NoValue for value in more.values()):
        return None
    if ufunc is np.add:
        return _sum(a, axis)
    return _gathered(ufunc, a, axis) if ufunc is np.logical_and or ufunc is np.logical_or else None


def _reduced_to_bool(
    a: Any, ufunc: Any, method: Any, axis: Any, out: Any, **more: Any
) -> Made | None:
    return _reduced(a, ufunc, method, axis, None, out, **more)


def _front(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Short sums and the like go to ours. All others, as max, min and prod, are no refusals."""
    gathered = {np.add, np.logical_or, np.logical_and}

    def reduction(obj: Any, ufunc: Any, method: Any, axis: Any, *more: Any, **named: Any) -> Any:
        if axis is not None and ufunc in gathered and _is_long(obj, axis):
            return ours(obj, ufunc, method, axis, *more, **named)
        return real(obj, ufunc, method, axis, *more, **named)

    reduction.ours = ours  # type: ignore[attr-defined]
    return reduction


def _rows(columns: int, dtype: Any) -> Any:
    random = np.random.Generator(np.random.PCG64(columns))
    values = random.integers(-(10**6), 10**6, (_LEAST_VALUES, columns)) * 1.0
    values *= 10.0 ** random.integers(-9, 9, values.shape)
    values[random.random(values.shape) < 0.2] = -0.0
    return values.astype(dtype)


def _trials() -> Iterator[tuple[Any, ...]]:
    for columns in _COLUMNS:
        for dtype in _FLOATS:
            yield _rows(columns, dtype), np.add, "sum", -1, None, None
        yield from ((*one, None, None) for one in _of_bools(columns))


def _bool_trials() -> Iterator[tuple[Any, ...]]:
    for columns in _COLUMNS:
        yield from ((*one, None) for one in _of_bools(columns))


def _of_bools(columns: int) -> Iterator[tuple[Any, ...]]:
    random = np.random.Generator(np.random.PCG64(columns))
    for ufunc, method, share in ((np.logical_and, "all", 0.8), (np.logical_or, "any", 0.2)):
        yield random.random((_LEAST_VALUES, columns)) < share, ufunc, method, 1


def _is_array(x: Any = None, *_args: Any, **_named: Any) -> bool:
    return type(x) is np.ndarray


def _is_global(function: Any, name: str) -> bool:
    """Whether it is the method of the module's own generator that has that name."""
    of: Any = getattr(function, "__self__", None)
    kind = np.random.RandomState
    own = type(function) is MethodType and of is np.random.mtrand._rand and type(of) is kind
    return own and function.__func__ is getattr(kind, name)


def entries() -> Iterator[Entry]:
    library = f"NumPy {np.__version__}"

    # Of NumPy 2, and of NumPy 1. Any other one has none of these functions.
    reductions = sys.modules.get("numpy._core.fromnumeric") or sys.modules["numpy.core.fromnumeric"]

    def entry(name: str, native: Any, trials: Any) -> Entry:
        return Entry(
            reductions,
            name,
            FunctionType,
            library,
            native,
            trials=trials,
            pictures=False,
            rests=True,
            front=_front,
        )

    yield entry("_wrapreduction", _reduced, _trials)
    if hasattr(reductions, "_wrapreduction_any_all"):
        yield entry("_wrapreduction_any_all", _reduced_to_bool, _bool_trials)
    # NumPy imports it when it is first asked for.
    if "numpy.random" not in sys.modules:
        return
    from . import numpy_normals

    yield from numpy_normals.entries(library, _is_global)
    if _is_global(np.random.shuffle, "shuffle"):
        yield Entry(
            np.random,
            "shuffle",
            MethodType,
            library,
            _shuffle,
            pictures=False,
            rests=True,
            draws=True,
            alike=_shuffles_alike,
            takes=_is_array,
        )
