"""Ahead of the code: pictures of the keys that come next are decoded by the worker, where cores idle.

A lane whose code spends its time decoding whole pictures says which files the next samples open (ahead_rules.py),
at every sixth sample, and at which sample it is. The worker decodes from the far end of each block of samples, the
lane from the near one (AheadLine). Why so: docs/adr/0104-decoded-ahead.md.

DECODE   first: lane
         version: number of the sample that is made now, how pictures are decoded, whether memory is wanted;
                  decimal, with commas between them
         token: of samples that come: number, paths, and nothing, a zero byte after each
                -> size: cores that idle; bytes: how many keys wait for the lane, these (i64), and rows
                   (ahead_pictures.Row); + memory, if it was wanted and there is some, or if rows
                   lie in another one from now on
"""

import os
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from ..process import object_reads
from . import ahead_pictures
from .ahead_decode_choice import DecodeChoice
from .ahead_door import MOST_BYTES
from .ahead_pictures import Pictures, Row
from .leaf_door import NO_STORE, PATIENCE, told
from .object_reads import Door, checked, question

DECODE = 10
_EACH = 6  # samples between two questions; AheadLine::kGuard is somewhat more
_WINDOW = 64  # samples that are said ahead of the one at hand
_ROW = struct.Struct("<12Q")


class Question(NamedTuple):
    lane: int
    number: int  # of the sample that is made now
    decoded_as: int
    wants_memory: bool
    coming: list[tuple[int, list[str]]]  # numbers, and the files that they open


class Said(NamedTuple):
    cores: int
    waiting: list[int]  # keys
    rows: list[Row]
    memory: memoryview | None


class DecodeDoor:
    """To the worker that serves this process now."""

    def __init__(self, before_new: Callable[[], None]) -> None:
        """`before_new` is called before another worker, or one through another door, is asked."""
        self.door: Any = None  # that was asked last
        self._before_new = before_new
        self._silent: Door | None = None

    def ask(self, asked: Question) -> Said | None:
        """None: there is no worker, or none that decodes ahead, or it is silent."""
        door = object_reads.by
        if not isinstance(door, Door) or door is self._silent:
            return None
        if door is not self.door:
            self._before_new()
            asked = asked._replace(wants_memory=True)
            self.door = door
        try:
            frame = question(
                *(DECODE, NO_STORE, ""),
                first=asked.lane,
                version=f"{asked.number},{asked.decoded_as},{int(asked.wants_memory)}",
                token="".join(
                    f"{number}\0{''.join(f'{path}{chr(0)}' for path in paths)}\0"
                    for number, paths in asked.coming
                ),
            )
            parts, memory = door.exchange(frame, told, "pictures ahead", (), PATIENCE)
            checked(parts)
            (cores,) = struct.unpack_from("<Q", parts[0], 16)
            few = parts[3]
            (count,) = struct.unpack_from("<q", few)
            waiting = list(struct.unpack_from(f"<{count}q", few, 8))
            rows = [Row(*words) for words in _ROW.iter_unpack(few[8 * (1 + count) :])]
            return Said(cores, waiting, rows, memory if len(memory) else None)
        except Exception:
            self._silent = door
            return None


class DecodedAhead:
    """One lane's. One thread."""

    def __init__(
        self,
        pictures: Pictures,
        ask: Callable[[Question], Said | None] | None = None,
        clock: Callable[[], float] = time.perf_counter,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        """`ask`: as DecodeDoor.ask; `clock`, and `cpu` of this thread: seconds."""
        self.pictures = pictures
        self._ask = ask or DecodeDoor(pictures.leave).ask
        self._clock, self._cpu = clock, cpu
        self._mark = cpu()
        self._choice = DecodeChoice(clock())
        self._origin = 0  # the number of the batch's first sample
        self._said = 0  # the number up to which the worker was told
        self._asked_at = -_EACH
        self._as = 0

    @property
    def on(self) -> bool:
        return self._choice.on

    def begin_batch(self) -> None:
        self._choice.begin_batch()
        if not self.on and self.pictures.has_memory:
            self.pictures.leave()  # the worker can't take it back from here
        self.pictures.noted()
        self._mark = self._cpu()

    def saw(self) -> None:
        """Samples were made, since the batch began or since the last call."""
        noted, now = self.pictures.noted(), self._cpu()
        # Not what went by: on a busy host most of it may be waiting for a core.
        took, self._mark = now - self._mark, now
        if noted.wanted and noted.wanted != self._as:
            if self._as and self.on:
                self._choice.rest()
            self.pictures.clear()
            self._as = noted.wanted
        self._choice.saw(noted.pictures, noted.seconds, noted.parts, took)

    def next_batch(self, made: int, foretold: int, follows: bool) -> None:
        """The batch of `made` samples is over, and the next one begins. `follows`: with the first of the
        `foretold` that were to come; else none of these comes."""
        self._origin += made if follows else made + foretold
        self._said = self._said if follows else 0

    def tell(
        self, at: int, lane: int, coming: list[int], files_of: Callable[[int], list[str] | None]
    ) -> list[int] | None:
        """Before the sample at this place of `coming`. `files_of` a key; None: nobody knows yet. Returns the keys
        that wait for the lane; None: it has not asked."""
        if self.pictures.differed:
            self._choice.end()
        number = self._origin + at
        # A lane is asked for its batches one after the other: with each of them the worker has nothing to do.
        is_time = number - self._asked_at >= _EACH or self._said <= number
        if not is_time or not self._choice.may_spend(self._clock()):
            return None
        began = self._clock()
        asked, said_to = self._question(number, lane, coming, files_of)
        if not asked.coming and (self._said <= number + 1 or number - self._asked_at < _EACH):
            return None  # there is nothing to say, and nothing to hear
        self._asked_at, self._said = number, said_to
        # Before the worker hears of it: it writes something else there then.
        self._choice.passed(*self.pictures.passed(number))
        said = self._ask(asked)
        if said is None:
            self._choice.end()
            self.pictures.leave()
            return None
        if said.memory is not None:
            self.pictures.share(said.memory)
        self.pictures.add(said.rows)
        self._choice.told(said.cores)
        self._choice.spent(self._clock() - began)
        return said.waiting

    def _question(
        self, number: int, lane: int, coming: list[int], files_of: Callable[[int], list[str] | None]
    ) -> tuple[Question, int]:
        """And the number up to which it speaks."""
        asked = Question(lane, number, self._as, not self.pictures.has_memory, [])
        size = 0
        first = max(self._said, number + 1)
        end = min(number + 1 + _WINDOW, self._origin + len(coming))
        for one in range(first, end):
            paths = files_of(coming[one - self._origin])
            if paths is None:
                return asked, one
            size += sum(len(os.fsencode(path)) + 1 for path in paths) + 24
            if size > MOST_BYTES:
                return asked, one
            asked.coming.append((one, paths))
        return asked, max(first, end)


# Looked at before lanes are forked, and in lanes.
possible = True


def of_lane() -> DecodedAhead | None:
    """For this process; None: its loader has as many lanes as there are cores, or nobody knows."""
    ahead_pictures.here = None
    if not possible:
        return None
    with suppress(Exception):
        from torch.utils.data import get_worker_info

        info: Any = get_worker_info()
        if info.num_workers < len(os.sched_getaffinity(0)):
            ahead_pictures.here = Pictures()
            return DecodedAhead(ahead_pictures.here)
    return None
