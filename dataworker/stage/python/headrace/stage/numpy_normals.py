"""Many normal numbers of NumPy's global generator: numpy.random.normal, standard_normal and randn (functions.py).

NumPy makes one after another, two of each pair that lies in a circle. Ours makes the words of some hundred pairs, and
then their logarithms, by the same operations (normal_numbers.h). It goes on in the generator's own memory, at the
number where it stands, and leaves it as NumPy does. The first number and the last one are NumPy's own: so the number
that a generator keeps of a pair stays NumPy's matter.

Why so: docs/adr/0111-rows-of-tables-and-normal-numbers.md.
"""

import ctypes
import math
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import numpy as np

from .. import _images
from .doors import Entry, Made

_LEAST, _MOST = 1024, 1 << 28  # numbers
_STATE = ctypes.c_uint32 * 625  # words, and which one is next
_NUMBERS = (float, int, np.float64)
_SIZES = (int, tuple, list)


class Stream:
    """The state of a RandomState in its own memory. Not thread-safe, as the generator without its lock."""

    def __init__(self, of: Any) -> None:
        """Raises what ctypes and NumPy raise if it has none that is known."""
        self._of = of
        self._bits = of._bit_generator  # keeps the memory alive
        if type(self._bits) is not np.random.MT19937:
            raise TypeError("another generator")
        memory: Any = _STATE.from_address(self._bits.ctypes.state_address)
        self._state = np.frombuffer(memory, dtype=np.uint32)
        known = self._bits.state["state"]
        if known["key"].tobytes() != self._state[:-1].tobytes() or known["pos"] != self._state[-1]:
            raise TypeError("another layout")

    def holds(self) -> bool:
        """Whether it is still the generator's: programs may set another one."""
        return self._of._bit_generator is self._bits

    def draw(self, normal: Callable[..., float], mean: float, deviation: float, out: Any) -> None:
        """Fills `out`, of one axis, as normal(mean, deviation, out.size) does. `normal`: gives one, of NumPy."""
        state, last = self._state, len(out)
        next_one = int(state[-1])
        out[0] = normal(mean, deviation)
        first = 1
        if int(state[-1]) != next_one:  # it was drawn, and the other one of its pair is kept
            out[1] = normal(mean, deviation)
            first = 2
        if (last - first) % 2:
            last -= 1
        with self._bits.lock:
            done = _images.draw_normals(state, mean, deviation, out[first:last])
        if not done:
            out[first:last] = normal(mean, deviation, last - first)
        if last < len(out):
            out[last] = normal(mean, deviation)


class _Normals:
    """Of the global generator, and whether it is NumPy's way."""

    def __init__(self) -> None:
        self._normal = np.random.mtrand._rand.normal  # NumPy's, whatever the module's names become
        self._stream: Stream | None = None

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Made | None:
        if not self._stream_holds():
            return None
        assert self._stream is not None
        try:
            made = np.empty(size)
        except Exception:
            return None  # NumPy meets it too
        self._stream.draw(self._normal, float(loc), float(scale), made.reshape(-1))
        return Made(None, made)

    def standard(self, size: Any = None) -> Made | None:
        return self.normal(0.0, 1.0, size)

    def randn(self, *size: Any) -> Made | None:
        return self.normal(0.0, 1.0, size)

    def _stream_holds(self) -> bool:
        if self._stream is None:
            try:
                self._stream = Stream(np.random.mtrand._rand)
            except Exception:
                return False
        return self._stream.holds()


def _count(size: Any) -> int:
    """0: it is no size of plain numbers."""
    if type(size) is int:
        return max(size, 0)
    if type(size) not in _SIZES or not all(type(one) is int and one >= 0 for one in size):
        return 0
    return math.prod(size)


def _is_many(size: Any) -> bool | None:
    count = _count(size)
    if count:
        return True if _LEAST <= count <= _MOST else None
    return None if size is None else False


def _takes(loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *more: Any) -> bool | None:
    if more or type(loc) not in _NUMBERS or type(scale) not in _NUMBERS:
        return False
    if size is None or not (many := _is_many(size)):
        return None if size is None else many
    plain = scale > 0 and math.isfinite(loc) and math.isfinite(scale)
    return True if plain else None


def _takes_standard(size: Any = None, *more: Any) -> bool | None:
    return False if more else _is_many(size)


def _takes_randn(*size: Any) -> bool | None:
    return _is_many(size) if size else None


def _alike() -> bool:
    """By generators of their own, from which the program draws nothing."""
    for seed in range(6):
        mine, theirs = np.random.RandomState(seed), np.random.RandomState(seed)
        for count, mean, deviation in ((1024, 0.0, 1.0), (2049, -3.5, 0.01), (1500, 1e9, 1e-3)):
            if seed % 2:
                mine.standard_normal(), theirs.standard_normal()
            made = np.empty(count + seed % 3)
            Stream(mine).draw(mine.normal, mean, deviation, made)
            if made.tobytes() != theirs.normal(mean, deviation, len(made)).tobytes():
                return False
            if repr(mine.get_state()) != repr(theirs.get_state()):
                return False
            if mine.random_sample(700).tobytes() != theirs.random_sample(700).tobytes():
                return False
    return True


def entries(library: str, is_global: Callable[[Any, str], bool]) -> Iterator[Entry]:
    """`is_global`: whether this is the method of the module's own generator that has that name."""
    normals = _Normals()
    functions = (
        ("normal", "normal", normals.normal, _takes),
        ("standard_normal", "standard_normal", normals.standard, _takes_standard),
        ("randn", "randn", normals.randn, _takes_randn),
    )
    for name, method, native, takes in functions:
        if is_global(getattr(np.random, name, None), method):
            yield Entry(
                *(np.random, name, MethodType, library, native),
                pictures=False,
                draws=True,
                alike=_alike,
                takes=takes,
            )
