"""Samples as the stock loader makes them, made beside the program.

A reference is a fork of the trainer, as a stock worker is one: it has the data set as it was at the
fork, the libraries with whatever the program replaced in them, and its settings. It makes samples from
the keys and generator states that it is told (reference_process.py). So no generator of the program is
reseeded, nothing that lives there is changed, and no `__getitem__` runs there that the stock loader
would not run there.
"""

import os
import pickle
import signal
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable
from multiprocessing.connection import Connection
from multiprocessing.popen_fork import Popen
from typing import TYPE_CHECKING, Any

import torch.multiprocessing

from ..errors import HeadraceError
from ..process import sockets
from ..process.own_imports import Late
from .asks import Ask, Made

if TYPE_CHECKING:
    from . import reference_process
else:
    reference_process = Late("headrace.admission.reference_process")

_SLICE = 0.1  # seconds between two looks at the deadline
_PATIENCE = 5.0  # seconds for a process that was told to end
_PATIENCE_TO_BEGIN = (2.0, 4.0, 8.0, 16.0)  # seconds


class ReferenceLost(HeadraceError):
    """The process has ended, or did not answer in time."""


class Reference:
    """Forks when it is first asked. Thread-safe; of no use in a child of the program.

    Ends with close(), when nobody holds it, and with the program, however that ends. Answers come in
    the order of the questions."""

    def __init__(self, dataset: Any, num_workers: int = 1) -> None:
        self._dataset = dataset
        self._num_workers = num_workers
        self._lock = threading.RLock()
        self._popen: Any = None
        self._connection: Any = None  # a Connection, once it has begun
        self._end: Any = None
        self._next = 0
        self._waiting: deque[tuple[int, int]] = deque()  # (ticket, how many answers)
        self._answers: dict[int, list[Made]] = {}
        self._owner = os.getpid()
        self._lost = ""

    @property
    def started(self) -> bool:
        return self._popen is not None

    def start(self) -> None:
        """Forks the reference, which sees no later change of the program. Does nothing the second
        time. Raises ReferenceLost."""
        with self._lock:
            if self._popen is not None:
                return
            self._check()
            for patience in _PATIENCE_TO_BEGIN:
                self._fork()
                if self._has_begun(patience):
                    self._dataset = None
                    return
                self._end()
            raise self._is_lost("did not begin")

    def _fork(self) -> None:
        mine, theirs = sockets.pair()
        self._connection = Connection(mine.detach())
        _live.add(self)
        # Not Process.start(): it would show in active_children(), and a daemon may have none.
        process = torch.multiprocessing.get_context("fork").Process(
            target=reference_process.main,
            args=(theirs, self._dataset, self._num_workers, self._owner),
            daemon=True,
        )
        # Ctrl-C before it has settled would show a traceback of the fork's.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._popen = Popen(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
        self._end = weakref.finalize(self, _end, self._popen, self._connection, self._owner)

    def _has_begun(self, patience: float) -> bool:
        """A fork inherits the locks that other threads held in that moment, torch's generator's
        above all, and may wait for one for ever. The next one will be luckier."""
        try:
            begins = self._connection.poll(patience)
            return bool(begins and self._connection.recv_bytes() == b"begun")
        except (OSError, EOFError):
            return False

    def ask(self, asks: Iterable[Ask]) -> int:
        """The number by which answers() knows them. Does not wait for the samples."""
        asks = list(asks)
        with self._lock:
            self.start()
            self._check()
            self._next += 1
            self._answers[self._next] = []
            if not asks:
                return self._next
            try:
                self._connection.send_bytes(pickle.dumps(asks, protocol=5))
            except OSError:
                raise self._is_lost(_how(self._popen)) from None
            self._waiting.append((self._next, len(asks)))
            return self._next

    def answers(self, number: int, patience: float = 0.0) -> list[Made] | None:
        """Returns the answers to that ask, once; None: not all are there after `patience` seconds.
        Raises ReferenceLost."""
        deadline = time.monotonic() + patience
        with self._lock:
            while any(ticket == number for ticket, _ in self._waiting):
                self._check()
                left = deadline - time.monotonic()
                if not self._read(min(_SLICE, max(0.0, left))) and left <= 0:
                    return None
            return self._answers.pop(number)

    def make(self, asks: Iterable[Ask], patience: float) -> list[Made]:
        """Asks and waits. Raises ReferenceLost."""
        return self.wait(self.ask(asks), patience)

    def wait(self, number: int, patience: float) -> list[Made]:
        """The answers to that ask, once. Raises ReferenceLost."""
        made = self.answers(number, patience)
        if made is None:
            raise self._is_lost(f"has not answered for {patience:.0f} s")
        return made

    def make_within(self, ask: Ask, seconds: float) -> Made | None:
        """Asks and waits. None: it was not made `seconds` after all that was asked for before, and the
        process is ended. Raises ReferenceLost."""
        number = self.ask([ask])
        with self._lock:
            while self._waiting and self._waiting[0][0] != number:
                self._check()
                self._read(_SLICE)
        made = self.answers(number, seconds)
        if made is None:
            self._is_lost(f"has not made a sample within {seconds:g} s")
            return None
        return made[0]

    def _read(self, wait: float) -> bool:
        """One answer, if it comes in that time."""
        try:
            if not self._connection.poll(wait):
                return False
            made = pickle.loads(self._connection.recv_bytes())
        except (OSError, EOFError):
            raise self._is_lost(_how(self._popen)) from None
        except BaseException:  # Ctrl-C in the middle of an answer
            self._is_lost("was left in the middle of an answer")
            raise
        number, count = self._waiting[0]
        self._answers[number].append(made)
        if len(self._answers[number]) == count:
            self._waiting.popleft()
        return True

    def _check(self) -> None:
        if os.getpid() != self._owner:
            raise ReferenceLost("the process that makes reference samples is another program's")
        if self._lost:
            raise ReferenceLost(self._lost)

    def _is_lost(self, how: str) -> ReferenceLost:
        pid = self._popen.pid
        self._lost = f"the process that makes reference samples (pid {pid}) {how}"
        self.close()
        return ReferenceLost(self._lost)

    def close(self) -> None:
        """Idempotent. No process stays. Does nothing in a child of the program."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            self._lost = self._lost or "the process that makes reference samples was ended"
            self._dataset = None
            if self._end is not None:
                self._end()

    def forget(self) -> None:
        """Called in a child of the program, so that the end of the program alone ends the
        reference."""
        if self._connection is not None:
            self._connection.close()


def _how(popen: Any) -> str:
    code = popen.wait(_PATIENCE)
    return "has ended" if code is None else f"has ended with exit code {code}"


def _end(popen: Any, connection: Connection, owner: int) -> None:
    if os.getpid() != owner:
        return
    connection.close()
    if popen.poll() is None:
        popen.kill()  # it holds nothing that anybody else would miss
        popen.wait(_PATIENCE)
    popen.close()


_live: "weakref.WeakSet[Reference]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for reference in list(_live):
        reference.forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
