"""What user code prints on a worker."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Bytes, of each stream.
_MOST_OF_A_BATCH = 1 << 20  # no more is shown
_MOST_LAST_WORDS = 4096


class Output:
    """What a child prints, caught for the trainer to show: in files of the process that forks it,
    which can still read them when the child has died."""

    def __init__(self) -> None:
        self.files = [os.memfd_create("headrace-output", os.MFD_CLOEXEC) for _ in (1, 2)]

    def catch(self) -> None:
        for fd, file in enumerate(self.files, start=1):
            os.dup2(file, fd)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # and not what the code has put there
                stream.reconfigure(line_buffering=True)  # a process that dies has written it

    def take(self) -> list[bytes]:
        """What has come since the last call: of stdout, of stderr."""
        sys.stdout.flush()
        sys.stderr.flush()
        return [_taken(file) for file in self.files]

    def close(self) -> bytes:
        """The last of what was not taken."""
        last = b""
        for file in self.files:
            start = max(0, os.fstat(file).st_size - _MOST_LAST_WORDS)
            last += os.pread(file, _MOST_LAST_WORDS, start)
            os.close(file)
        return last


def _taken(file: int) -> bytes:
    size = os.fstat(file).st_size
    if size == 0:
        return b""
    text = os.pread(file, min(size, _MOST_OF_A_BATCH), 0)
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    return text


def tell(line: str) -> None:
    """One line on stderr, where there is one: programs close it, or put objects of theirs there. No line
    of ours is worth an error in them, now or when they flush what could not be written."""
    with suppress(Exception):
        stream = sys.stderr
        if type(stream) is not io.TextIOWrapper:
            stream.write(f"{line}\n")
            return
        stream.flush()
        os.write(stream.fileno(), f"{line}\n".encode(stream.encoding, "backslashreplace"))


@contextmanager
def muted() -> Iterator[None]:
    """Nothing that is printed inside is seen."""
    flush()
    kept = {fd: os.dup(fd) for fd in (1, 2) if _is_open(fd)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for fd in kept:
        os.dup2(nowhere, fd)
    try:
        yield
    finally:
        flush()
        for fd, copy in kept.items():
            os.dup2(copy, fd)
            os.close(copy)
        os.close(nowhere)


def flush() -> None:
    """Writes what the program has printed, where it can be written."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # the program has closed it
            stream.flush()


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
