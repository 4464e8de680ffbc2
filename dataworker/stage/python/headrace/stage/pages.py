"""Pages of the arena that a process is about to write.

A lane is a new process in each epoch, and meets each page of a slot first by a fault. The pages are there: the
trainer has made them with the slot. So the kernel can enter many at a time, without a fault for each.
"""

import mmap

# MADV_POPULATE_READ of Linux 5.14. A read enters the 16 pages around it, and a page of shared memory that was
# read may be written. (MADV_POPULATE_WRITE goes page by page.)
_POPULATE = 22
_CHUNK = 64 << 10


class Pages:
    """Of one map of shared memory. One thread."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._map = mapped
        # By chunk, as far as a lane has come: the map of an arena is as large as an arena may become.
        self._entered = bytearray()
        self._may = True

    def expect(self, offset: int, size: int) -> None:
        """Enters the whole chunks of these bytes. The memory is reserved: nothing is made that was not there."""
        first, last = -(-offset // _CHUNK), (offset + size) // _CHUNK
        if last <= first or not self._may:
            return
        if (more := last - len(self._entered)) > 0:
            self._entered += bytes(more)
        elif self._entered.find(0, first, last) < 0:
            return
        self._entered[first:last] = b"\1" * (last - first)
        try:
            self._map.madvise(_POPULATE, first * _CHUNK, (last - first) * _CHUNK)
        except OSError:
            self._may = False  # an older kernel
