"""Leaves that their worker keeps in files: records of its disk tier (dataworker/cache/disk/record.h), which a lane
reads by itself.

What the kernel has in memory is read at once. For the rest the lane asks the kernel to read it, and waits no longer
than the leaf takes to make. Where the file system can't tell what the kernel has, nothing is read: a read could wait
for as long as a network does. A record is checked before it is believed: that it is this leaf's, its length, and the
hash of its bytes.
"""

import errno
import os
import resource
import struct
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..native import binding
from . import leaf_cost
from .descriptors import file_of

OF_FILE = 1 << 63  # as LeafShelf::kOfFile
HEADER = struct.Struct("<16Q")
_HASHED = HEADER.size - 8
_MAGIC = 0x3330434552434852  # "RHCREC03"
_PLACE_BIT = 1 << 63  # says how far a name holds, and is not the lane's
_MOST_OPEN = 64
_CAN_NOT = {
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EINVAL,
}  # as DiskCalls::CanReadNow says to the worker
_STEP, _LEAST = 100e-6, 1e-6  # seconds between two looks at what the kernel has read
reads = read = (
    0  # calls of this process, and their bytes, which are none of the code's that runs (witness.py)
)


class Place(NamedTuple):
    """Where an index says that a leaf lies."""

    file: int
    offset: int
    size: int
    seconds: float  # that it took to make


class _CanNotError(Exception):
    """Nothing of this file system is read without waiting."""


class Files:
    """Those of one worker. Not thread-safe."""

    def __init__(
        self,
        open_file: Callable[[int], int],
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`open_file`: gives a descriptor of the file of that number, which is this object's then."""
        self._open_file, self._clock, self._sleep = open_file, clock, sleep
        self._open: OrderedDict[int, tuple[int, tuple[int, int]]] = OrderedDict()
        self.pace = leaf_cost.Pace()
        self.can_read = True  # as far as is known: the worker's tier is one file system
        self.bytes = self.awaited_bytes = self.waited_ns = 0  # since take_counts()

    def read(self, tag: int, words: tuple[int, ...], place: Place) -> memoryview | None:
        """The leaf; None: it is not there, is damaged, or would come later than it can be made."""
        if place.size < 0 or place.offset < 0 or not self.can_read:
            return None
        memory = np.empty(HEADER.size + place.size, np.uint8)
        try:
            fd = self._descriptor(place.file)
            if not self._fill(fd, memory.data, place):
                return None
        except Exception as error:  # it was given up, or the disk has an error
            self._forget(place.file)
            if isinstance(error, _CanNotError):
                self.can_read = False
                self.keep_to(set())
            return None
        return _payload(memory, tag, words)

    def keep_to(self, files: set[int]) -> None:
        """The others were given up by the worker, and would go on taking room on the disk."""
        for number in [one for one in self._open if one not in files]:
            self._forget(number)

    def take_counts(self) -> tuple[int, int, int]:
        counts = self.bytes, self.awaited_bytes, self.waited_ns
        self.bytes = self.awaited_bytes = self.waited_ns = 0
        return counts

    def _descriptor(self, number: int) -> int:
        if number in self._open:
            self._open.move_to_end(number)
            fd, file = self._open[number]
            if file_of(fd) == file:
                return fd
            del self._open[
                number
            ]  # the program has closed it, and the number may be another file's
        while len(self._open) >= _most_open():
            self._forget(next(iter(self._open)))
        fd = self._open_file(number)
        self._open[number] = fd, file_of(fd)
        return fd

    def _forget(self, number: int) -> None:
        fd, file = self._open.pop(number, (-1, (-1, -1)))
        if fd >= 0 and file_of(fd) == file:
            os.close(fd)

    def _fill(self, fd: int, memory: memoryview, place: Place) -> bool:
        """False: not all of it comes in time."""
        have = self._read_now(fd, memory, place.offset)
        if have == len(memory):
            return True
        most = self.pace.wait(place.seconds, len(memory))
        if most <= 0:
            return False
        missing, began = len(memory) - have, self._clock()
        os.posix_fadvise(fd, place.offset + have, missing, os.POSIX_FADV_WILLNEED)
        while have < len(memory):
            left = most - (self._clock() - began)
            if left < _LEAST:
                break
            self._sleep(min(left, _STEP))
            have += self._read_now(fd, memory[have:], place.offset + have)
        took = self._clock() - began
        if have < len(memory):
            took *= 2  # nobody knows when it would have come
        self.pace.note(missing, took)
        self.awaited_bytes += missing
        self.waited_ns += int(took * 1e9)
        return have == len(memory)

    def _read_now(self, fd: int, memory: memoryview, offset: int) -> int:
        """Bytes that came: what the kernel has in memory, from the beginning."""
        global reads, read
        have = 0
        while have < len(memory):
            reads += 1
            try:
                got = os.preadv(fd, [memory[have:]], offset + have, os.RWF_NOWAIT)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno in _CAN_NOT:
                    raise _CanNotError from error
                raise
            if got == 0:
                break
            read += got
            have += got
        self.bytes += have
        return have


def _payload(memory: Any, tag: int, words: tuple[int, ...]) -> memoryview | None:
    """`words`: of the key. None: it is another record, or damaged."""
    found = HEADER.unpack(memory[: HEADER.size])
    place, other, *version = words[:5]
    own = found[1:6], found[8], found[11:15]
    wanted = (
        (place & ~_PLACE_BIT, other, *version),
        len(memory) - HEADER.size,
        (tag, *words[5:7], place),
    )
    if found[0] != _MAGIC or own != wanted:
        return None
    payload = memory[HEADER.size :]
    if _hash(memory[:_HASHED]) != found[15] >> 1 or _hash(payload) != found[9] >> 1:
        return None
    return memoryview(payload).toreadonly()


def _hash(data: Any) -> int:
    """63 bits of it."""
    return int(binding.Blob(data).hash)


def _most_open() -> int:
    """Descriptors are the program's, too."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST_OPEN if soft < 0 else max(1, min(_MOST_OPEN, soft // 16))
