"""Leaves: what a lane reads and decodes, kept by its worker for all lanes of this user on this host.

A lane asks its worker what there is (an index) when it begins, and sometimes later. So a lookup is no question:
it is a search in the index, and a place in memory that the lane has mapped. What the lane makes and is worth
keeping (leaf_cost.py) it writes into a segment of memory, and hands it over when it is full. Entries are never
written again: whoever finds one has a copy of it, or reads it where it is. What the worker has in files the lane
reads from there (leaf_files.py).

Whatever fails here costs speed alone: the library reads the file. Why so: docs/adr/0086-leaves-of-stages.md.
"""

# This file is long because one lock guards all that a process knows of leaves.

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from ..process import object_reads
from . import leaf_cost
from .leaf_door import NO_ROOM, PATIENCE, Counts, LeafDoor, Room
from .leaf_files import OF_FILE, Files, Place
from .leaf_keys import STEP_NS, Key
from .leaf_segment import ROW, UNIT, Segment
from .object_reads import Door

T = TypeVar("T")
# An entry in memory; or the words of one in a file, and where.
_Found = memoryview | tuple[tuple[int, ...], Place]

_COLUMNS = 12  # as LeafShelf::FullRow
_NUMBER = 8  # the column of an entry's segment
_ASKS_AGAIN = 0.5  # seconds; who was given no room may have some a second or two later
_TELLS = 2.0  # seconds; policies weigh leaves by what was looked for


class Leaves:
    """One process's. Thread-safe; a fork has none."""

    def __init__(
        self,
        first: bool,
        keeps: bool = True,
        door: Callable[[], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
        again: bool = False,
        cpu: Callable[[], float] = time.process_time,
    ) -> None:
        """`first`: this is the loader's first iteration, `keeps`: another one may come, `again`: that is likely.
        `door`: gives a LeafDoor or None at each batch. `cpu`: seconds that this process has taken."""
        self._first, self._keeps = first, keeps
        self._cpu, self._cpu_before = cpu, cpu()
        self.first_iteration = leaf_cost.FirstIteration(again)
        self._door_now, self._clock = door or _current_door, clock
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._door: Any = None
        self._batch, self._silent = 0, False
        self._files = Files(self._opened, clock)
        self._reading = threading.Lock()  # of self._files
        self._forget()
        self._segment: Segment | None = None
        self._offered: set[Key] = set()
        self._room = NO_ROOM  # that the worker would take
        self._told = 0.0  # when the worker was last told of lookups
        self._hits = self._of_files = self._misses = 0  # not told yet
        self._looked_up = [0, 0]  # hits and misses since somebody asked
        self._active = False  # its worker keeps leaves
        self._due = False  # nobody has asked that yet: the worker is asked when somebody does
        self.iteration = 0  # of this process
        self.rests = False  # what is made now is a part of a result that is kept itself
        # Seconds of what was made until now and is worth keeping, or would be later.
        self.parts = 0.0

    def begin(self, again: bool = False) -> None:
        """A batch is about to be made. `again`: the first of another iteration."""
        with self._lock:
            if again:
                self._first, self._batch = False, 0
                self.iteration += 1
                self._hand_over()
                # What the worker has taken is in its next index, and what it has given up may have room again.
                self._offered.clear()
            self._batch += 1
            door = self._door_now()
            if door is None:
                self._door, self._active, self._due = None, False, False
                self._forget()
                return
            is_new = self._door is None or self._door.door is not door.door
            if is_new:
                self._door, self._batch, self._silent, self._due = door, 1, False, True
                self._forget()
            if self._due:
                return
            if self._silent:
                self._active = False
                return
            if leaf_cost.looks_again(self._batch):
                self._look()
            elif self._active:
                wait = _TELLS if self._most_room else _ASKS_AGAIN
                if self._clock() - self._told > wait:
                    self._tell()

    @property
    def active(self) -> bool:
        """Whether the worker keeps leaves. Code that reads no file asks for none, and waits for no answer."""
        if self._due and os.getpid() == self._pid:
            with self._lock:
                if self._due:
                    self._due = False
                    self._look()
        return self._active

    def end(self) -> None:
        """No batch is to come."""
        with self._lock:
            self._hand_over()
            self._tell()
            self._close_files(set())

    def find(self, key: Key) -> memoryview | None:
        """The entry, which nobody writes; None: there is none."""
        if os.getpid() != self._pid:
            return None
        with self._lock:
            found = next(self._entries(key.tag, key.words, slice(None)), None)
        return self._counted(None if found is None else self._view(found, key.tag))

    def found_by(
        self, key: Key, is_it: Callable[[memoryview], bool], most: int
    ) -> memoryview | None:
        """As find(), of entries that differ in their versions, which is_it() tells apart: of `most` at most."""
        if os.getpid() != self._pid:
            return None
        with self._lock:
            entries = list(itertools.islice(self._entries(key.tag, key.words, slice(5, 7)), most))
        views = (self._view(entry, key.tag) for entry in entries)
        return self._counted(next((one for one in views if one and is_it(one[0])), None))

    def has(self, key: Key) -> bool:
        """Whether find() is likely to find it. Counts nothing."""
        if os.getpid() != self._pid:
            return False
        with self._lock:
            return next(self._entries(key.tag, key.words, slice(None)), None) is not None

    def missed(self) -> None:
        """Something was read that was not looked for."""
        self._misses += 1
        self._looked_up[1] += 1

    def take_lookups(self) -> list[int]:
        """Hits and misses since the last call."""
        taken, self._looked_up = self._looked_up, [0, 0]
        return taken

    @property
    def has_any(self) -> bool:
        """Whether anything can be found."""
        return self.active and len(self._tags) > 0

    def keeps(self, seconds: float, size: int) -> bool:
        """Whether an entry that took so long is offered."""
        if leaf_cost.is_worth(seconds, size, first=False):
            self.parts += seconds
        return self._takes(seconds, size)

    def _takes(self, seconds: float, size: int) -> bool:
        return (
            self._keeps
            and self._fits(seconds, size)
            and not self.rests
            and leaf_cost.is_worth(seconds, size, self._first and not self._invests)
            and os.getpid() == self._pid
        )

    def _fits(self, seconds: float, size: int) -> bool:
        room = self._room
        if room.memory > size:
            return True
        return (
            self._files.can_read
            and room.files > size
            and leaf_cost.pays_in_files(seconds, size, room.read, room.read_byte)
        )

    @property
    def may_keep(self) -> bool:
        return self._keeps and self._most_room > 0

    @property
    def _most_room(self) -> int:
        return self._room.most if self._files.can_read else self._room.memory

    @property
    def wants_whole(self) -> bool:
        """Whether a lane should make more than it needs now, since it will be needed again."""
        if not self.may_keep or self.rests or os.getpid() != self._pid:
            return False
        return not self._first or self._invests

    @property
    def _invests(self) -> bool:
        return self.first_iteration.invests(self._cpu() - self._cpu_before)

    @property
    def is_first(self) -> bool:
        """Whether this is the first iteration: nobody knows whether there will be another."""
        return self._first

    @property
    def looks_for_pictures(self) -> bool:
        """Whether pictures that cost less than they need to be kept at once are looked for at all."""
        return self.has_any or self.wants_whole

    @property
    def is_idle(self) -> bool:
        """Whether nothing can be found, and nothing kept."""
        return not self.has_any and not self.may_keep

    def offer(
        self, key: Key, ctime_ns: int, began_ns: int, parts: tuple[Any, ...], seconds: float
    ) -> bool:
        """Keeps the parts, which are bytes, if that is worth it and there is room, and says whether. `ctime_ns`: of
        the file, which was the same before and after it was read; `began_ns`: when that began. A file that was changed
        within a step of the clock before it may change again without a sign, and is not kept."""
        size = sum(map(len, parts))
        if began_ns - ctime_ns < STEP_NS or not self._takes(seconds, size):
            return False
        before = self._cpu()
        is_kept = self._write(key, parts, seconds, size)
        self.first_iteration.spend(self._cpu() - before)
        return is_kept

    # Without the lock.

    def _write(self, key: Key, parts: tuple[Any, ...], seconds: float, size: int) -> bool:
        with self._lock, suppress(OSError):
            if key in self._offered:
                return True  # a second view of it
            segment = self._segment
            if segment is not None and not segment.has_room(size):
                self._hand_over()
                segment = None
            if segment is None:
                least = size + UNIT + 2 * ROW.size
                rooms = self._room.memory, self._room.files
                sizes = (leaf_cost.segment_bytes(room, least) for room in rooms)
                capacity = next(filter(None, sizes), 0)
                if not capacity:
                    self._room = NO_ROOM
                    return False
                segment = self._segment = Segment(capacity)
            segment.add(key, parts, int(seconds * 1e9))
            self._offered.add(key)
            return True
        return False

    def _view(self, entry: _Found, tag: int) -> tuple[memoryview, _Found] | None:
        """None: it is in a file, and can't be read, or not in time. Who would have to wait for another thread's
        read makes it, too."""
        if isinstance(entry, memoryview):
            return entry, entry
        if not self._reading.acquire(blocking=False):
            return None
        try:
            view = self._files.read(tag, *entry)
        finally:
            self._reading.release()
        return None if view is None else (view, entry)

    def _counted(self, found: tuple[memoryview, _Found] | None) -> memoryview | None:
        if found is None:
            self.missed()
            return None
        self._looked_up[0] += 1
        view, entry = found
        if isinstance(entry, memoryview):
            self._hits += 1
        else:
            self._of_files += 1
        return view

    # With the lock.

    def _forget(self) -> None:
        self._rows: Any = np.empty((0, _COLUMNS), np.uint64)
        self._tags: Any = np.empty(0, np.uint64)
        self._segments: dict[int, memoryview | None] = {}
        self._close_files(set())

    def _entries(self, tag: int, words: tuple[int, ...], same: slice) -> Iterator[_Found]:
        """Those whose words are the same in that part."""
        tags = self._tags
        at = int(np.searchsorted(tags, np.uint64(tag)))
        while at < len(tags) and tags[at] == tag:
            row = self._rows[at].tolist()
            if tuple(row[1:8])[same] == words[same]:
                number, offset, size, nanoseconds = row[8:]
                if number & OF_FILE:
                    yield tuple(row[1:8]), Place(number, offset, size, nanoseconds / 1e9)
                else:
                    segment = self._mapped(number)
                    if segment is not None and offset + size <= len(segment):
                        yield segment[offset : offset + size]
            at += 1

    def _mapped(self, number: int) -> memoryview | None:
        if number not in self._segments:
            segment = None
            with suppress(Exception):  # it was given up, or the worker has gone
                segment = self._asked(lambda: self._door.segment(number))
            self._segments[number] = segment
        return self._segments[number]

    def _look(self) -> None:
        counts = self._take_counts()
        try:
            view, room = self._asked(lambda: self._door.index(counts))
            self._set_room(room)
            self._files.pace.start(room.read, room.read_byte)
            self._active = True
        except Exception:  # it keeps no leaves, or has gone
            self._room, self._active = NO_ROOM, False
            view = memoryview(b"")
        self._rows = np.frombuffer(view, np.uint64).reshape(-1, _COLUMNS)
        self._tags = np.ascontiguousarray(self._rows[:, 0])
        # What the worker has given up is no longer held here either, or it would take memory beyond its quota.
        numbers = np.sort(self._rows[:, _NUMBER])
        changes = np.flatnonzero(numbers[1:] != numbers[:-1])  # np.unique() would import numpy.ma
        there = {*numbers[:1].tolist(), *numbers[1:][changes].tolist()}
        self._segments = {one: self._segments[one] for one in self._segments if one in there}
        self._close_files(there)

    def _take_counts(self) -> Counts:
        with self._reading:
            read = self._files.take_counts()
        counts = Counts(self._hits, self._misses, self._of_files, *read)
        self._hits = self._of_files = self._misses = 0
        self._told = self._clock()
        return counts

    def _tell(self) -> None:
        counts = self._take_counts()
        if self._door is not None and any(counts) and os.getpid() == self._pid:
            with suppress(Exception):
                self._set_room(self._asked(lambda: self._door.counts(counts)))

    def _close_files(self, but: set[int]) -> None:
        with self._reading:
            self._files.keep_to(but)

    def _opened(self, number: int) -> int:
        return self._asked(lambda: int(self._door.file(number)))

    def _asked(self, ask: Callable[[], T]) -> T:
        """What the worker answers. One that was silent once is not asked again."""
        if self._silent:
            raise TimeoutError
        began = self._clock()
        try:
            return ask()
        finally:
            self._silent = self._clock() - began >= PATIENCE

    def _set_room(self, room: Room) -> None:
        taken = self._segment.capacity if self._segment is not None else 0
        memory, files = max(0, room.memory - taken), max(0, room.files - taken)
        self._room = Room(memory, files, room.read, room.read_byte)

    def _hand_over(self) -> None:
        segment, self._segment = self._segment, None
        if segment is None or os.getpid() != self._pid:
            return
        if self._door is None or not segment.rows:
            segment.drop()
            return
        # Where nothing is taken: no room after all, it is there already, nobody answers.
        self._room = NO_ROOM
        with suppress(Exception):
            fd, rows, end = segment.seal()
            try:
                self._room = self._asked(lambda: self._door.put(fd, rows, end))
            finally:
                os.close(fd)


# The program has a cache, or its workers may. Set before lanes are forked.
possible = False
# Of this process; None: it has none.
here: Leaves | None = None


def active() -> Leaves | None:
    """This process's, if something may be found there or kept."""
    return here if here is not None and here.active else None


def _current_door() -> LeafDoor | None:
    door = object_reads.by
    return LeafDoor(door) if isinstance(door, Door) else None
