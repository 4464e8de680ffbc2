"""What a lane asks its worker about leaves, on the connections of object_reads.py.

INDEX    as COUNTS, size: 1        -> memory: rows of all leaves; the room for more
SEGMENT  first: which              -> memory, or a file
PUT      first: rows, count: where the last one ends, + memory    -> the room for more
COUNTS   first: hits, count: misses, version: counts of files     -> the room for more
"""

import os
import struct
from contextlib import suppress
from typing import Any, NamedTuple

from . import leaf_maps, wire
from .object_reads import Door, checked, question

INDEX, SEGMENT, PUT, COUNTS = range(5, 9)
# Seconds for an answer. Who waits longer could have read the files.
PATIENCE = 1.0


class _NoStore(NamedTuple):
    base: str = ""
    endpoint: str = ""
    region: str = ""
    addressing: str = ""
    anonymous: bool = False


# Of questions that are about none.
NO_STORE = _NoStore()


class Counts(NamedTuple):
    """Of lookups since the last time. Of files: bytes that were read, those that came from the disk, and how long
    that took (ns)."""

    hits: int = 0  # in memory
    misses: int = 0
    of_files: int = 0
    bytes: int = 0
    awaited_bytes: int = 0
    waited_ns: int = 0


class Room(NamedTuple):
    """Bytes that the worker would take of more leaves, and what a read of its files takes: seconds, and seconds a
    byte."""

    memory: int = 0
    files: int = 0
    read: float = 0.0
    read_byte: float = 0.0

    @property
    def most(self) -> int:
        return max(self.memory, self.files)


NO_ROOM = Room()


class LeafDoor:
    """To the worker behind a Door. Its methods raise what the worker says, and UnavailableError if it has
    gone. Thread-safe."""

    def __init__(self, door: Door) -> None:
        self.door = door

    def index(self, counts: Counts) -> tuple[memoryview, Room]:
        return self._asked(INDEX, counts.hits, counts.misses, _text(counts), size=1)

    def segment(self, number: int) -> memoryview:
        return self._asked(SEGMENT, number)[0]

    def file(self, number: int) -> int:
        """A descriptor, which is the caller's."""
        taken: list[int] = []
        self._asked(SEGMENT, number, taken=taken)
        return taken[0]

    def put(self, fd: int, rows: int, end: int) -> Room:
        return self._asked(PUT, rows, end, fd=fd)[1]

    def counts(self, counts: Counts) -> Room:
        return self._asked(COUNTS, counts.hits, counts.misses, _text(counts))[1]

    def _asked(
        self,
        what: int,
        first: int = 0,
        count: int = 0,
        version: str = "",
        fd: int = -1,
        size: int = 0,
        taken: list[int] | None = None,
    ) -> tuple[memoryview, Room]:
        frame = question(what, NO_STORE, "", first=first, count=count, version=version, size=size)
        passed = () if fd < 0 else (fd,)

        def hear(sock: Any, parts: list[bytes], fds: list[int]) -> Any:
            return told(sock, parts, fds, taken)

        parts, view = self.door.exchange(frame, hear, "leaves", passed, PATIENCE)
        checked(parts)
        return view, _room(parts[2])


def _text(counts: Counts) -> str:
    return ",".join(map(str, counts[2:])) if any(counts[2:]) else ""


def _room(text: bytes) -> Room:
    """Of a worker that says what it should; else there is none."""
    with suppress(ValueError):
        words = [int(word) for word in text.split(b",")]
        if len(words) == 1:
            return Room(words[0])
        if len(words) == 4:
            return Room(words[0], words[1], words[2] / 1e9, words[3] / 1024e9)
    return NO_ROOM


def told(
    sock: Any, parts: list[bytes], fds: list[int], taken: list[int] | None = None
) -> tuple[list[bytes], memoryview]:
    """The worker's answer, and a map of the memory that came with it, or nothing. `taken`: gets a descriptor of
    the memory, in place of a map."""
    count = struct.unpack_from("<Q", parts[0], 24)[0]
    try:
        view = memoryview(b"")
        if fds and taken is not None:
            taken.append(os.dup(fds[0]))
        elif fds and count:
            # The map is whole: nobody can cut sealed memory.
            view = leaf_maps.mapped(fds[0], count)
        return parts, view
    finally:
        for fd in fds:
            os.close(fd)
        if fds:
            wire.send(sock, wire.TAKEN)
