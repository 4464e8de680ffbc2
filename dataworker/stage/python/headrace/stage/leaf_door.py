"""What a lane asks its worker about leaves, on the connections of object_reads.py.

INDEX    as COUNTS                          -> memory: rows of all leaves; the room for more
SEGMENT  first: which                       -> memory
PUT      first: rows, count: where the last one ends, + memory    -> the room for more
COUNTS   first: hits, count: misses         -> the room for more
"""

import mmap
import os
import struct
from typing import Any, NamedTuple

from . import wire
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


class LeafDoor:
    """To the worker behind a Door. Its methods raise what the worker says, and UnavailableError if it has
    gone. Thread-safe."""

    def __init__(self, door: Door) -> None:
        self.door = door

    def index(self, hits: int, misses: int) -> tuple[memoryview, int]:
        """Rows, and the bytes that the worker would take of more."""
        return self._asked(INDEX, hits, misses)

    def segment(self, number: int) -> memoryview:
        return self._asked(SEGMENT, number)[0]

    def put(self, fd: int, rows: int, end: int) -> int:
        return self._asked(PUT, rows, end, fd)[1]

    def counts(self, hits: int, misses: int) -> int:
        return self._asked(COUNTS, hits, misses)[1]

    def _asked(
        self, what: int, first: int = 0, count: int = 0, fd: int = -1
    ) -> tuple[memoryview, int]:
        frame = question(what, NO_STORE, "", first=first, count=count)
        passed = () if fd < 0 else (fd,)
        parts, view, size = self.door.exchange(frame, _told, "leaves", passed, PATIENCE)
        checked(parts)
        return view, size


def _told(sock: Any, parts: list[bytes], fds: list[int]) -> tuple[list[bytes], memoryview, int]:
    size, count = struct.unpack_from("<2Q", parts[0], 16)
    try:
        view = memoryview(b"")
        if fds and count:
            # The map is whole: nobody can cut sealed memory.
            view = memoryview(mmap.mmap(fds[0], count, mmap.MAP_SHARED, mmap.PROT_READ))
        return parts, view, size
    finally:
        for fd in fds:
            os.close(fd)
        if fds:
            wire.send(sock, wire.TAKEN)
