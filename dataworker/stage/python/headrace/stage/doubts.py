"""How lanes tell the trainer at once that results were wrong which they have given in place of calls, however the lanes
are started. What the trainer does then: headrace/serve/made_again.py. Why so: docs/adr/0106-made-again.md.
"""

import mmap
import os
import threading
from multiprocessing import reduction
from typing import Any

_SIZE = 16  # a number that is another one after each doubt; whether a result was given that nobody has compared


class Doubts:
    """Memory that lanes and the trainer share. Pickles for a lane that is being spawned, whose own it becomes."""

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            fd = os.memfd_create("headrace-doubts", os.MFD_CLOEXEC)
            os.ftruncate(fd, _SIZE)
        self._fd = fd
        self._memory = mmap.mmap(fd, _SIZE)
        self._words = memoryview(self._memory).cast("Q")

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._fd),)

    @property
    def number(self) -> memoryview:
        """8 bytes."""
        return memoryview(self._memory)[:8]

    def tell(self) -> None:
        """By chance, because two lanes that count would write the same number."""
        fence()
        self._words[0] = int.from_bytes(os.urandom(8), "little")

    def believe(self) -> None:
        self._words[1] = 1

    @property
    def any_believed(self) -> bool:
        return bool(self._words[1])


# Of this program: made in the trainer before its first lanes.
here: Doubts | None = None
_lock = threading.Lock()


def prepare() -> Doubts:
    global here
    if here is None:
        here = Doubts()
    return here


def fence() -> None:
    """What was written before it other processes see before they see what is read or written after it: of two that each
    write and then read what the other one writes, one sees it. A lock of the interpreter is an atomic operation."""
    with _lock:
        pass


def _received(descriptor: Any) -> Doubts:
    global here
    here = Doubts(descriptor.detach())
    return here
