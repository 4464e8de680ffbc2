"""What user code prints on a worker."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Output:
    """What user code prints: left alone, or caught for the trainer to show (other hosts)."""

    def __init__(self, catch: bool) -> None:
        self.file = -1
        if catch:
            self.file = os.memfd_create("headrace-output", os.MFD_CLOEXEC)
            os.dup2(self.file, 1)
            os.dup2(self.file, 2)

    def take(self) -> bytes:
        sys.stdout.flush()
        sys.stderr.flush()
        if self.file < 0 or (size := os.fstat(self.file).st_size) == 0:
            return b""
        text = os.pread(self.file, size, 0)
        os.ftruncate(self.file, 0)
        os.lseek(self.file, 0, os.SEEK_SET)
        return text


@contextmanager
def muted() -> Iterator[None]:
    """Nothing that is printed inside is seen."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, copy in enumerate(kept, start=1):
            os.dup2(copy, fd)
            os.close(copy)
        os.close(nowhere)
