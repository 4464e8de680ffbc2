"""What ends a batch that must be made again, and the pictures for which that was so."""

import zlib
from typing import Any

_known: dict[int, set[int]] = {}  # by a file's length, its checksums


class Redo(BaseException):
    """A picture was deferred that PIL refuses (images.py): all must be made again from what was before
    the batch, without that picture deferred. `file`: of the picture.

    Not an Exception: user code that skips what it can't read must not see it.
    """

    def __init__(self, file: bytes) -> None:
        super().__init__()
        self.mark = len(file), zlib.crc32(file)


def know(mark: tuple[int, int]) -> None:
    """The picture of a Redo's mark is damaged, for this process and its forks."""
    length, checksum = mark
    _known.setdefault(length, set()).add(checksum)


def is_damaged(file: Any) -> bool:
    """Whether this file is known to be, or has the length and the checksum of one that is. `file`:
    bytes, or an array of them."""
    found = _known.get(len(file))
    return found is not None and zlib.crc32(file) in found
