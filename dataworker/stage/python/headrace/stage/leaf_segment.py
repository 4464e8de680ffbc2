"""Memory that a lane fills with leaves and then seals, for its worker to take over without a copy."""

import fcntl
import mmap
import os
import struct
from typing import Any

from .leaf_keys import Key

UNIT = 64  # places of entries are multiples of it
ROW = struct.Struct("<11Q")  # as LeafShelf::Row
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Segment:
    """One thread. Pages that are not filled take no memory."""

    def __init__(self, capacity: int) -> None:
        """Raises OSError: there is no memory, or no descriptor."""
        self._fd = os.memfd_create("headrace-leaves", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self._fd, capacity)
            self._map = mmap.mmap(self._fd, capacity)
            # Code of the program's may fork: a child that keeps the map would keep it from being sealed.
            self._map.madvise(mmap.MADV_DONTFORK)
        except BaseException:
            os.close(self._fd)
            raise
        self.capacity, self.filled = capacity, 0
        self.rows: list[bytes] = []

    def has_room(self, size: int) -> bool:
        return self.filled + size + UNIT + (len(self.rows) + 1) * ROW.size <= self.capacity

    def add(self, key: Key, parts: tuple[Any, ...], took_ns: int) -> None:
        """Copies the parts, which are bytes. REQUIRES: has_room."""
        begin = at = self.filled
        for part in parts:
            self._map[at : at + len(part)] = part
            at += len(part)
        self.rows.append(ROW.pack(key.tag, *key.words, begin, at - begin, took_ns))
        self.filled = (at + UNIT - 1) // UNIT * UNIT

    def seal(self) -> tuple[int, int, int]:
        """Returns the descriptor, which the caller closes, the number of rows, and where the last one ends.
        Raises OSError: somebody else has it mapped."""
        rows = b"".join(self.rows)
        end = self.filled + len(rows)
        try:
            self._map[self.filled : end] = rows
            self._map.close()
            os.ftruncate(self._fd, end)
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _SEALS)
        except BaseException:
            os.close(self._fd)
            raise
        return self._fd, len(self.rows), end

    def drop(self) -> None:
        self._map.close()
        os.close(self._fd)
