"""Memory that a lane fills with leaves and then seals, for its worker to take over without a copy.

It is written by system calls and never mapped here: a page that a map touches first costs a fault and is cleared,
which takes twice as long (bench/report/leaves.md). So nobody can keep it from being sealed, a fork neither.
"""

import fcntl
import os
import struct
from typing import Any

from .descriptors import file_of
from .leaf_keys import Key

UNIT = 64  # places of entries are multiples of it
ROW = struct.Struct("<11Q")  # as LeafShelf::Row
writes = 0  # of this process, which are none of the code's that runs (witness.py)
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Segment:
    """One thread."""

    def __init__(self, capacity: int) -> None:
        """Raises OSError: there is no descriptor."""
        self._fd = os.memfd_create("headrace-leaves", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._file = file_of(self._fd)
        self.capacity, self.filled = capacity, 0
        self.rows: list[bytes] = []

    def has_room(self, size: int) -> bool:
        return self.filled + size + UNIT + (len(self.rows) + 1) * ROW.size <= self.capacity

    def add(self, key: Key, parts: tuple[Any, ...], took_ns: int) -> None:
        """Writes the parts, which are bytes. REQUIRES: has_room. Raises OSError: there is no memory."""
        begin, size = self.filled, sum(map(len, parts))
        self._write(parts, begin)
        self.rows.append(ROW.pack(key.tag, *key.words, begin, size, took_ns))
        self.filled = (begin + size + UNIT - 1) // UNIT * UNIT

    def seal(self) -> tuple[int, int, int]:
        """Returns the descriptor, which the caller closes, the number of rows, and where the last one ends.
        Raises OSError."""
        try:
            rows = b"".join(self.rows)
            self._write((rows,), self.filled)
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _SEALS)
        except BaseException:
            self.drop()
            raise
        return self._fd, len(self.rows), self.filled + len(rows)

    def drop(self) -> None:
        if file_of(self._fd) == self._file:
            os.close(self._fd)

    def _write(self, parts: tuple[Any, ...], at: int) -> None:
        if file_of(self._fd) != self._file:
            raise OSError("the program has closed it, and the number may be another file's")
        global writes
        writes += 1
        size = sum(map(len, parts))
        if os.pwritev(self._fd, parts, at) != size:
            raise OSError("a memory file takes no more")
