"""A worker's half of leaves, in memory: what a lane hands over is there for the next one."""

import fcntl
import mmap
import os
import struct

from headrace.native import binding
from headrace.stage import leaves
from headrace.stage.leaf_door import Room
from headrace.stage.leaf_files import HEADER, OF_FILE
from headrace.stage.leaf_segment import ROW

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_FULL = struct.Struct("<12Q")  # as LeafShelf::FullRow


def record(row, payload: bytes) -> bytes:
    """As dataworker/cache/disk/record.h has it; the form is hashed once more there, which a lane does not look at."""
    tag, place, other, *version, first, second = row[:8]
    words = (0x3330434552434852, place & ~OF_FILE, other, *version, ~first & OF_FILE - 1, second,
             len(payload), hash_of(payload), row[10], tag, first, second, place)  # fmt: skip
    head = struct.pack("<15Q", *words)
    return head + struct.pack("<Q", hash_of(head)) + payload


def hash_of(data: bytes) -> int:
    """Of which a lane knows 63 bits."""
    return binding.Blob(data).hash << 1


def _records(content: bytes, rows):
    """As the worker writes them: the bytes of a file, and rows whose places are those of records."""
    made, placed = bytearray(), []
    for row in rows:
        placed.append((*row[:8], len(made), *row[9:]))
        made += record(row, content[row[8] : row[8] + row[9]])
        made += bytes(-len(made) % 64)
    assert HEADER.size == 128
    return bytes(made), placed


class LeafWorker:
    """A LeafDoor, and what is behind it."""

    def __init__(self, room: int = 1 << 30, folder=None) -> None:
        """`folder`: what is handed over goes to files there, in place of memory."""
        self.door = self
        self.room, self.gone, self.folder = room, False, folder
        self.read = self.read_byte = 0.0  # what it says that a read takes
        self.told = []  # Counts
        self.of_files = 0
        self.segments: dict[int, tuple[bytes, list[tuple[int, ...]]]] = {}
        self.hits = self.misses = self.asked = 0

    def index(self, counts):
        self.counts(counts)
        rows = [
            (*row[:8], number, *row[8:11])
            for number, (_, rows) in self.segments.items()
            for row in rows
        ]
        return memoryview(b"".join(_FULL.pack(*row) for row in sorted(rows))), self._room()

    def segment(self, number):
        self._ask()
        return memoryview(self.segments[number][0]).toreadonly()

    def file(self, number):
        self._ask()
        return os.open(self.path_of(number), os.O_RDONLY | os.O_CLOEXEC)

    def path_of(self, number):
        return self.folder / str(number & ~OF_FILE)

    def _room(self):
        if self.folder is None:
            return Room(self.room)
        return Room(0, self.room, self.read, self.read_byte)

    def put(self, fd, rows, end):
        self._ask()
        assert fcntl.fcntl(fd, fcntl.F_GET_SEALS) & _SEALS == _SEALS
        size = os.fstat(fd).st_size
        if size > self.room:
            raise RuntimeError("no room")
        with mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
            content = bytes(memory)
        begin = end - rows * ROW.size
        rows = list(struct.iter_unpack("<11Q", content[begin:end]))
        number = len(self.segments) + 1
        if self.folder is not None:
            number |= OF_FILE
            content, rows = _records(content, rows)
            self.path_of(number).write_bytes(content)
        self.segments[number] = content, rows
        self.room -= size
        return self._room()

    def counts(self, counts):
        self._ask()
        self.told.append(counts)
        self.hits += counts.hits
        self.of_files += counts.of_files
        self.misses += counts.misses
        return self._room()

    @property
    def entries(self) -> int:
        return sum(len(rows) for _, rows in self.segments.values())

    def lane(self, first=False, keeps=True, **more) -> leaves.Leaves:
        """A new lane's, which is this process's from now on; what the one before has made is handed over. `more`: as
        Leaves takes it."""
        if leaves.here is not None:
            leaves.here.end()
        leaves.here = leaves.Leaves(first, keeps, door=lambda: self, **more)
        leaves.here.begin()
        leaves.active()  # as whatever looks for a leaf does; before, the worker is not asked
        return leaves.here

    def _ask(self) -> None:
        self.asked += 1
        if self.gone:
            raise ConnectionError("the worker has gone")
