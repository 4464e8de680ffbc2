"""Segments of leaves as a lane maps them, and parts of these that a program may write into.

Such a part costs no copy: its pages are the segment's, and a page that is written becomes the writer's own. It holds
the memory of its whole segment, so a program that keeps what it is given gets copies.

Why so: docs/adr/0117-results-without-a-copy.md.
"""

import ctypes
import functools
import mmap
import os
import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from .descriptors import file_of

LEAST = 256 << 10  # bytes; to map fewer, and to enter their pages, takes as long as to copy them
# So many parts are alive in a process at the most: those of a few batches.
MOST = 1024
_FAILED = ctypes.c_void_p(-1).value
_POPULATE = 22  # MADV_POPULATE_READ of Linux 5.14: enters pages without a fault for each


class _Calls(NamedTuple):
    """Of the C library."""

    map: Any
    unmap: Any
    advise: Any


@functools.cache
def _calls() -> _Calls:
    place, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library = ctypes.CDLL(None)  # with functions that nobody else has given types
    map_, unmap, advise = library.mmap, library.munmap, library.madvise
    map_.restype = place
    map_.argtypes = place, size, number, number, number, ctypes.c_long
    unmap.argtypes = place, size
    advise.argtypes = place, size, number
    return _Calls(map_, unmap, advise)


class _Map:
    """Memory that is mapped while this lives, as NumPy takes it."""

    def __init__(self, fd: int, begin: int, size: int, flags: int, access: int) -> None:
        """Raises OSError: there is no room."""
        self._calls = _calls()
        self.address, self.size = self._calls.map(None, size, access, flags, fd, begin), size
        if self.address == _FAILED:
            self.address = None
            raise OSError("no map of a segment")
        read_only = not access & mmap.PROT_WRITE
        self.__array_interface__ = {
            "data": (self.address, read_only),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        if getattr(self, "address", None) is not None:
            self._calls.unmap(self.address, self.size)


class SegmentMap(_Map):
    """A whole segment, which nobody writes. Knows its file."""

    def __init__(self, fd: int, size: int) -> None:
        """`fd`: stays the caller's. Raises OSError."""
        self._fd = -1
        super().__init__(fd, 0, size, mmap.MAP_SHARED, mmap.PROT_READ)
        self._fd = os.dup(fd)
        self._file = file_of(self._fd)
        self._file_of, self._close = file_of, os.close  # the module's names may be gone at the end

    def part(self, begin: int, size: int) -> Any:
        """uint8 [size], writable. Raises OSError."""
        if file_of(self._fd) != self._file:
            raise OSError("the program has closed it, and the number may be another file's")
        first = begin // mmap.PAGESIZE * mmap.PAGESIZE
        access = mmap.PROT_READ | mmap.PROT_WRITE
        part = _Map(self._fd, first, begin + size - first, mmap.MAP_PRIVATE, access)
        self._calls.advise(part.address, part.size, _POPULATE)
        _parts.note(part)
        return np.asarray(part)[begin - first :]

    def __del__(self) -> None:
        super().__del__()
        if self._fd >= 0 and self._file_of(self._fd) == self._file:
            self._close(self._fd)


class _Parts:
    """Which are alive. Not exact among threads."""

    def __init__(self) -> None:
        self._latest: deque[weakref.ref[_Map]] = deque(maxlen=MOST)
        self.are_kept = False

    def note(self, part: _Map) -> None:
        full = len(self._latest) == MOST
        self.are_kept = self.are_kept or (full and self._latest[0]() is not None)
        self._latest.append(weakref.ref(part))


_parts = _Parts()


def mapped(fd: int, size: int) -> memoryview:
    """A segment's memory, read-only. Raises OSError."""
    whole: Any = np.asarray(SegmentMap(fd, size))
    return memoryview(whole)


def can_be_mapped(size: int) -> bool:
    """Whether own() of so many bytes is likely to be no copy."""
    return size >= LEAST and not _parts.are_kept


def own(view: memoryview) -> Any:
    """uint8 [bytes], of which the program may be the owner. It is written by nobody else."""
    source = getattr(view.obj, "base", None)
    if type(source) is SegmentMap and can_be_mapped(view.nbytes):
        place = np.frombuffer(view, np.uint8).__array_interface__["data"][0]
        try:
            return source.part(place - source.address, view.nbytes)
        except OSError:
            pass
    return np.frombuffer(view, np.uint8).copy()
