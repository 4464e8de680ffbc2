"""What malloc of a process that makes batches does with memory that is free again.

glibc gives a buffer of more than 32 MiB back to the kernel, which clears the next one again. A
collate_fn that mixes a batch of usual size makes several: an epoch of it took 2.7 s instead of 2.0.

Smaller ones are given back as well, as soon as two or three of them are free at the end of the heap: `ToTensor` and
`Normalize` of one array took 2.6 ms instead of 0.33. So a lane keeps some from its beginning.
"""

import ctypes
import functools
import os

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4

_SET_BY_USERS = (
    "GLIBC_TUNABLES", "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
)  # fmt: skip

ALL = 2**31 - 1
# The limit of a lane, which is one of many on its host. A stock worker has as much while it
# collates.
_MOST = 128 << 20
_SMALL = 8 << 20  # of smaller batches, a few buffers are no more than what each lane keeps
_OF_SAMPLES = 32 << 20  # that each lane keeps; glibc allows no more
_BUFFERS = 4  # of its size, while a batch is mixed


class Buffers:
    """The buffers of a lane's batches. One thread."""

    def __init__(self) -> None:
        self._largest = _SMALL
        # Larger blocks go back to the kernel.
        _tell((_M_MMAP_THRESHOLD, _OF_SAMPLES), (_M_TRIM_THRESHOLD, _OF_SAMPLES))

    def see(self, batch: int) -> None:
        """Notes that a batch of `batch` bytes was made."""
        if batch > self._largest:
            self._largest = batch
            keep(min(_BUFFERS * batch, _MOST))


def keep(most: int) -> None:
    """Keeps up to `most` free bytes with the process. Does nothing if the user has configured
    malloc, or the C library is another one."""
    _tell((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, most))


def _tell(*options: tuple[int, int]) -> None:
    """Does what keep() does."""
    if any(name in os.environ for name in _SET_BY_USERS):
        return
    mallopt = getattr(libc(), "mallopt", None)
    if mallopt is not None:
        for option, value in options:
            mallopt(option, value)


@functools.cache
def libc() -> ctypes.CDLL:
    """The C library. To find it makes a class: forks have that of their parent."""
    return ctypes.CDLL(None)
