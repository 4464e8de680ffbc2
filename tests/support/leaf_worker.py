"""A worker's half of leaves, in memory: what a lane hands over is there for the next one."""

import fcntl
import mmap
import os
import struct

from headrace.stage import leaves
from headrace.stage.leaf_segment import ROW

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


class LeafWorker:
    """A LeafDoor, and what is behind it."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.door = self
        self.room, self.gone = room, False
        self.segments: dict[int, tuple[bytes, list[tuple[int, ...]]]] = {}
        self.hits = self.misses = self.asked = 0

    def index(self, hits, misses):
        self.counts(hits, misses)
        rows = [
            (*row[:8], number, *row[8:10])
            for number, (_, rows) in self.segments.items()
            for row in rows
        ]
        return memoryview(b"".join(ROW.pack(*row) for row in sorted(rows))), self.room

    def segment(self, number):
        self._ask()
        return memoryview(self.segments[number][0]).toreadonly()

    def put(self, fd, rows, end):
        self._ask()
        assert fcntl.fcntl(fd, fcntl.F_GET_SEALS) & _SEALS == _SEALS
        size = os.fstat(fd).st_size
        if size > self.room:
            raise RuntimeError("no room")
        with mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
            content = bytes(memory)
        begin = end - rows * ROW.size
        self.segments[len(self.segments) + 1] = (
            content,
            list(struct.iter_unpack("<11Q", content[begin:end])),
        )
        self.room -= size
        return self.room

    def counts(self, hits, misses):
        self._ask()
        self.hits += hits
        self.misses += misses
        return self.room

    @property
    def entries(self) -> int:
        return sum(len(rows) for _, rows in self.segments.values())

    def lane(self, first=False, keeps=True) -> leaves.Leaves:
        """A new lane's, which is this process's from now on; what the one before has made is handed over."""
        if leaves.here is not None:
            leaves.here.end()
        leaves.here = leaves.Leaves(first, keeps, door=lambda: self)
        leaves.here.begin()
        return leaves.here

    def _ask(self) -> None:
        self.asked += 1
        if self.gone:
            raise ConnectionError("the worker has gone")
