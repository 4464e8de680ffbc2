"""What lanes find out about declared functions, in memory that the trainer shares with its forks.

A function that was found out in one lane is found out in all, at once and for the life of the program. Each lane
counts in a row of its own, so nobody waits for anybody. Two loaders' lanes of one number may lose a count.
"""

import mmap
import struct
from typing import Any

import numpy as np

from .. import declared

_FUNCTIONS, _LANES = 256, 64
_TEXT = 500
_WORD = struct.Struct(f"<H{_TEXT}s")
_ROW = 512  # state, length of text, text
OPEN, ENDED = 0, 1
HITS, COMPARED, KEPT, SAVED_NS = range(4)
_COUNTS = 8


class Board:
    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _FUNCTIONS * _ROW + _FUNCTIONS * _LANES * _COUNTS * 8)
        counts: Any = np.frombuffer(self._memory, np.int64, offset=_FUNCTIONS * _ROW)
        self._counts = counts.reshape(_FUNCTIONS, _LANES, _COUNTS)
        self.lane = 0

    @staticmethod
    def has_place(number: int) -> bool:
        return 0 <= number < _FUNCTIONS

    def is_over(self, number: int) -> bool:
        return self._memory[number * _ROW] == ENDED

    def end(self, number: int, why: str) -> bool:
        """Whether this is the first that says so."""
        if self.is_over(number):
            return False
        self.say(number, why)
        self._memory[number * _ROW] = ENDED
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


def told() -> list[dict[str, Any]]:
    """What is known of each function that the program has declared, for people."""
    return [_told(function) for function in declared.cached_functions()]


def _told(function: Any) -> dict[str, Any]:
    code = getattr(vars(function).get("__wrapped__"), "__code__", function.__code__)
    number = vars(function)[declared.CACHED]
    here = board if board is not None and Board.has_place(number) else None
    counts = (
        [0] * _COUNTS if here is None else [here.count(number, what) for what in range(_COUNTS)]
    )
    why = here.why(number) if here is not None else ""
    kept = counts[KEPT] + counts[HITS] > 0 and not (here is not None and here.is_over(number))
    return {
        "name": function.__qualname__,
        "file": code.co_filename,
        "line": code.co_firstlineno,
        "cached": kept,
        "why_not": why,
        "hits": counts[HITS],
        "compared": counts[COMPARED],
        "kept": counts[KEPT],
        "seconds_saved": counts[SAVED_NS] * 1e-9,
    }
