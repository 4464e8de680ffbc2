"""Whether a file here has the content that the trainer's has.

On one host device, inode, size and times say so. On another one a hash does: of the whole of a small
file, of both ends of a large one and of pages between them. What this can't see, comparisons of batches
are for (docs/adr/0028-elsewhere.md).
"""

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

_WHOLE = 1 << 20  # bytes of a file that is hashed whole
_END = 64 << 10  # bytes at each end of a larger one
_PAGES, _PAGE = 64, 4096  # spread over what is between the ends


class OtherFile(Exception):
    """This host has not the file that the trainer has opened."""


class Seen(NamedTuple):
    """A file as the trainer sees it."""

    path: str  # absolute
    size: int  # bytes
    place: tuple[str, int, int, int, int]  # boot of the host, device, inode, times in ns
    content: bytes  # content_of()


def open_same(seen: Seen) -> int:
    """A descriptor to read it, of this process. Raises OtherFile."""
    try:
        fd = os.open(seen.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # no pipe
    except OSError as error:
        raise OtherFile(f"{seen.path} can't be opened here: {error.strerror}") from None
    try:
        here = os.fstat(fd)
        if not stat.S_ISREG(here.st_mode):
            raise OtherFile(f"{seen.path} is no file here")
        if here.st_size != seen.size:
            raise OtherFile(
                f"{seen.path} has {here.st_size} bytes here, and {seen.size} on the trainer's host"
            )
        if place_of(here) != seen.place and content_of(fd, here.st_size) != seen.content:
            raise OtherFile(f"{seen.path} has other content here than on the trainer's host")
    except BaseException:
        os.close(fd)
        raise
    return fd


def same_path(seen: Seen) -> str:
    """Its path, for libraries that open it by themselves. Raises OtherFile."""
    os.close(open_same(seen))
    return seen.path


def place_of(file: os.stat_result) -> tuple[str, int, int, int, int]:
    return _boot(), file.st_dev, file.st_ino, file.st_mtime_ns, file.st_ctime_ns


def content_of(fd: int, size: int) -> bytes:
    """A hash of the size and of what is looked at. Reads 1 MiB at most."""
    seen = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    for offset, length in _parts(size):
        while length > 0:
            read = os.pread(fd, length, offset)
            if not read:
                break  # it has become shorter
            seen.update(read)
            offset, length = offset + len(read), length - len(read)
    return seen.digest()


def _parts(size: int) -> list[tuple[int, int]]:
    if size <= _WHOLE:
        return [(0, size)]
    step = (size - 2 * _END - _PAGE) // (_PAGES - 1)
    between = [(_END + i * step, _PAGE) for i in range(_PAGES)]
    return [(0, _END), *between, (size - _END, _END)]


def _boot() -> str:
    """Not cached: a fork may be looked at from another place, and it is one short read."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
