"""What lanes find out about declared functions and found ones, in memory that the trainer shares with its forks.

A function that was found out in one lane is found out in all, at once and for the life of the program. Each lane
counts in a row of its own, so nobody waits for anybody. Two loaders' lanes of one number may lose a count.
"""

import mmap
import struct
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import declared
from . import doubts

_DECLARED, _FOUND, _LANES = 256, 256, 64
_FUNCTIONS = _DECLARED + _FOUND
_NAMES = 4096  # of calls of each found function, that are remembered
_CHANGES = 1  # in a name that is remembered: its call changes what it depends on
_TEXT = 500
_WORD = struct.Struct(f"<H{_TEXT}s")
_ROW = 512  # state, whether a result was given that was not compared, length of text, text
# Ended: a difference was seen, and told. Given up: of a found function, quietly.
OPEN, ENDED, GIVEN_UP = 0, 1, 2
HITS, COMPARED, KEPT, SAVED_NS, TRIALS, TRIAL_NS, NAMED, AGAIN, EVIDENCE_NS, NAMES_NS = range(10)
_COUNTS = 10
_LATEST = 4  # iterations


class Board:
    def __init__(self) -> None:
        counted = _FUNCTIONS * _ROW + _FUNCTIONS * _LANES * _COUNTS * 8
        named = counted + _FOUND * _NAMES * 8
        self._memory = mmap.mmap(-1, named + _LANES * 16)
        size = _FUNCTIONS * _LANES * _COUNTS
        counts: Any = np.frombuffer(self._memory, np.int64, size, offset=_FUNCTIONS * _ROW)
        self._counts = counts.reshape(_FUNCTIONS, _LANES, _COUNTS)
        self._names = memoryview(self._memory)[counted:named].cast("Q")
        self._budgets = memoryview(self._memory)[named:].cast("q")
        self.lane = 0
        self.made_again: dict[int, int] = {}  # by function, batches; the trainer's alone

    @staticmethod
    def has_place(number: int) -> bool:
        """For a declared function; found ones have places of their own."""
        return 0 <= number < _DECLARED

    def is_over(self, number: int) -> bool:
        return self._memory[number * _ROW] != OPEN

    def is_ended(self, number: int) -> bool:
        return self._memory[number * _ROW] == ENDED

    def believe(self, number: int) -> bool:
        """A result of the function is about to be given that is not compared. False: it may not be. If the function ends
        later, whoever looks knows that there was one."""
        self._memory[number * _ROW + 1] = 1
        doubts.prepare().believe()
        doubts.fence()
        return not self.is_over(number)

    def is_believed(self, number: int) -> bool:
        return bool(self._memory[number * _ROW + 1])

    def ended(self) -> set[int]:
        """Functions of which a difference was seen."""
        states = self._memory[: _FUNCTIONS * _ROW : _ROW]
        return {number for number, state in enumerate(states) if state == ENDED}

    def give_up(self, number: int, why: str) -> None:
        """The found function is not served from now on."""
        if not self.is_over(number):
            self.say(number, why)
            self._memory[number * _ROW] = GIVEN_UP

    def meets(self, number: int, name: int) -> bool:
        """Whether a call of a found function had this name before; it is remembered, as long as there is room.
        `name`: 64 bits."""
        at, name = self._place(number, name)
        known = self._names[at]
        if known == 0:
            self._names[at] = name
            self.add(number, NAMED, 1)
            return False
        if known & ~_CHANGES == name:
            self.add(number, AGAIN, 1)
            return True
        return False

    def changes(self, number: int, name: int) -> None:
        """A call of this name was seen to change what it depends on, as it will whenever it is made."""
        at, name = self._place(number, name)
        if self._names[at] & ~_CHANGES in (0, name):
            self._names[at] = name | _CHANGES

    def is_known_to_change(self, number: int, name: int) -> bool:
        at, name = self._place(number, name)
        return self._names[at] == name | _CHANGES

    @staticmethod
    def _place(number: int, name: int) -> tuple[int, int]:
        """Where a call's name is remembered, and as what: one bit of it says whether it changes something."""
        name = name & ~_CHANGES or 2  # 0: nobody is there
        return (number - _DECLARED) * _NAMES + (name >> 1) % _NAMES, name

    def end(self, number: int, why: str) -> bool:
        """Whether this is the first that says so."""
        if self.is_ended(number):
            return False
        self.say(number, why)
        self._memory[number * _ROW] = ENDED
        doubts.prepare().tell()
        return True

    def say(self, number: int, why: str) -> bool:
        """Notes why results are not kept. Whether it is the first reason."""
        first = not self.why(number)
        text = why.encode("utf-8", "replace")[:_TEXT]
        _WORD.pack_into(self._memory, number * _ROW + 2, len(text), text)
        return first

    def why(self, number: int) -> str:
        size, text = _WORD.unpack_from(self._memory, number * _ROW + 2)
        return str(text[:size], "utf-8", "replace")

    def budget(self) -> memoryview:
        """What cached_rules.Budget keeps of lanes of this number."""
        at = 2 * (self.lane % _LANES)
        return self._budgets[at : at + 2]

    def add(self, number: int, what: int, count: int) -> None:
        self._counts[number, self.lane % _LANES, what] += count

    def count(self, number: int, what: int) -> int:
        """Of all lanes."""
        return int(self._counts[number, :, what].sum())


# Made in the trainer before it forks lanes, or in a lane that is no fork.
board: Board | None = None


def prepare() -> Board:
    global board
    if board is None:
        board = Board()
    return board


class Found:
    """A function that Headrace has found by itself."""

    def __init__(self, function: types.FunctionType, number: int) -> None:
        self._function = weakref.ref(function)
        self.number = number
        # Names that were known when each iteration began, of each data set that reaches it; and of the latest.
        self._known: dict[int, list[int]] = {}
        self.known: list[int] = []
        self.iterations: dict[int, int] = {}  # of each data set

    @property
    def function(self) -> Any:
        """None: it is no more."""
        return self._function()

    def is_reached_by(self, dataset: int) -> bool:
        return dataset in self._known

    def begin(self, dataset: int, names: int) -> None:
        """An iteration. `dataset`: its id(); `names`: that are known."""
        self.iterations[dataset] = self.iterations.get(dataset, 0) + 1
        self.known = self._known.setdefault(dataset, [])
        self.known.append(names)
        del self.known[:-_LATEST]


found: dict[int, Found] = {}  # by id(); a place is not given twice


def begun(dataset: int) -> int:
    """Iterations of a data set until now. `dataset`: its id()."""
    return max((one.iterations.get(dataset, 0) for one in found.values()), default=0)


def begin_again(dataset: int, names: Callable[[int], int]) -> None:
    """An iteration, of all functions that it reached before. `names`: known, of a function's number."""
    for one in found.values():
        if one.is_reached_by(dataset):
            one.begin(dataset, names(one.number))


def found_of(function: types.FunctionType) -> Found | None:
    """Its entry, which is made; None: there is no more place."""
    known = found.get(id(function))
    if known is not None and known.function is function:
        return known
    taken = _taken.get("", _DECLARED)
    if taken >= _FUNCTIONS:
        return None
    _taken[""] = taken + 1
    made = found[id(function)] = Found(function, taken)
    return made


_taken: dict[str, int] = {}


def told() -> list[dict[str, Any]]:
    """What is known of each function that the program has declared, or that was found, for people."""
    return [*told_of_declared(), *told_of_found()]


def told_of_declared() -> list[dict[str, Any]]:
    return [
        _told(function, vars(function)[declared.CACHED], is_found=False)
        for function in declared.cached_functions()
    ]


def told_of_found() -> list[dict[str, Any]]:
    return [
        _told(function, one.number, is_found=True)
        for one in found.values()
        if (function := one.function) is not None and declared.CACHED not in vars(function)
    ]


def told_of(function: types.FunctionType) -> dict[str, Any]:
    """Of a function that was found, but is in no lane."""
    known = found.get(id(function))
    number = known.number if known is not None and known.function is function else -1
    return _told(function, number, is_found=True)


def _told(function: Any, number: int, is_found: bool) -> dict[str, Any]:
    code = getattr(vars(function).get("__wrapped__"), "__code__", function.__code__)
    has_place = number >= 0 and (is_found or Board.has_place(number))
    here = board if has_place else None
    counts = (
        [0] * _COUNTS if here is None else [here.count(number, what) for what in range(_COUNTS)]
    )
    why = here.why(number) if here is not None else ""
    kept = counts[KEPT] + counts[HITS] > 0 and not (here is not None and here.is_over(number))
    return {
        "name": function.__qualname__,
        "file": code.co_filename,
        "line": code.co_firstlineno,
        "found": is_found,
        "cached": kept,
        "why_not": why,
        "hits": counts[HITS],
        "compared": counts[COMPARED],
        "kept": counts[KEPT],
        "seconds_saved": counts[SAVED_NS] * 1e-9,
        # Of trials, watching, traces, and results that were made again; and of names of calls that nothing was found of.
        "seconds_of_evidence": counts[EVIDENCE_NS] * 1e-9,
        "seconds_of_names": counts[NAMES_NS] * 1e-9,
        # That waited for the program when a difference was seen.
        "batches_made_again": 0 if here is None else here.made_again.get(number, 0),
    }
