"""Worker processes of an iterator whose batches are made elsewhere.

To programs the stock iterator's `_workers` are processes: they look whether one is alive, measure it, wait
for its end. Native batches need none, so they are made when somebody looks: by the loader's own
context, as children that wait for the iterator's end and do nothing else. A program that does not
look pays nothing.
"""

import contextlib
import os
import select
import socket
from typing import Any

from torch.utils.data import _utils

from ..service import session
from .lanes import died, own_context

_signals: Any = _utils.signal_handling  # whose functions are in C


class WorkerProcesses:
    """They run when it is made. One thread, of the process that made them."""

    def __init__(self, context: Any, count: int) -> None:
        self._ends: list[socket.socket] = []
        self.processes: list[Any] = []
        self._ended = False
        try:
            for _ in range(count):
                self._start(context)
            for end in self._ends:
                end.recv(1)  # by spawn it takes seconds, in which none could end in peace
        except BaseException:
            self.end()
            raise
        pids = tuple(process.pid for process in self.processes)
        _signals._set_worker_pids(id(self), pids)
        _signals._set_SIGCHLD_handler()

    def _start(self, context: Any) -> None:
        ours, theirs = socket.socketpair()
        self._ends.append(ours)
        with theirs:
            process = context.Process(target=wait_for_end, args=(theirs, os.getpid()))
            process.daemon = True
            process.start()
        self.processes.append(process)

    def check(self) -> None:
        """Raises what torch raises where one has ended before its time."""
        failed = [process for process in self.processes if not process.is_alive()]
        if failed and not self._ended:
            raise died(failed)

    def end(self) -> None:
        """They have ended when it returns. Idempotent."""
        if self._ended:
            return
        self._ended = True
        for end in self._ends:
            with contextlib.suppress(OSError):  # it has ended
                end.shutdown(socket.SHUT_RDWR)  # even if others have inherited our side
            end.close()
        try:
            for process in self.processes:
                process.join(_utils.MP_STATUS_CHECK_INTERVAL)
        finally:
            _signals._remove_worker_pids(id(self))
            for process in self.processes:
                if process.is_alive():
                    process.terminate()
                    process.join(_utils.MP_STATUS_CHECK_INTERVAL)


def wait_for_end(end: socket.socket, trainer: int) -> None:
    """What such a process does. `trainer`: pid."""
    session.release_inherited()
    _signals._set_worker_signal_handlers()
    poll = select.poll()
    poll.register(end, select.POLLIN)
    try:
        poll.register(os.pidfd_open(trainer), select.POLLIN)
        end.send(b"1")
        poll.poll()
    except (OSError, KeyboardInterrupt):
        pass  # the trainer has ended, or is the one that says so


class WithWorkers:
    """Mixed in front of an iterator of torch's with worker processes, whose own it does not start."""

    _processes: WorkerProcesses | None = None
    _pid: int
    _num_workers: int
    _context: Any

    def _may_have_workers(self, loader: Any) -> None:
        """Once, first."""
        self._context = own_context(loader)

    @property
    def _workers(self) -> list[Any]:
        if self._processes is None:
            if os.getpid() != self._pid:
                return []
            self._processes = WorkerProcesses(self._context, self._num_workers)
            if self._has_ended():
                self._processes.end()
        return self._processes.processes

    def _has_ended(self) -> bool:
        """Whether the stock iterator's workers would have."""
        raise NotImplementedError

    def _end_workers(self) -> None:
        if self._processes is not None and os.getpid() == self._pid:
            self._processes.end()

    def _check_lanes(self, wait: float = 0.0) -> None:
        if self._processes is not None:
            self._processes.check()
