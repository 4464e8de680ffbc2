"""A native session with its numbers."""

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..native import binding
from ..native.plan import Plan
from . import answers, device, options, service
from .report import REPORT, LoaderReport

_open: "weakref.WeakSet[SessionHandle]" = weakref.WeakSet()
_only_worker: ContextVar[int] = ContextVar("headrace_only_worker", default=-1)
_inheritance = threading.local()  # .descriptors: of the fork that this thread is about to make


@contextmanager
def by_worker(worker: int) -> Iterator[None]:
    """Sessions that are opened inside have this worker alone, whatever the job has leased."""
    token = _only_worker.set(worker)
    try:
        yield
    finally:
        _only_worker.reset(token)


class SessionHandle:
    """One loader's session. One thread at a time; of no use in a forked child."""

    def __init__(
        self,
        plan: Plan,
        report: LoaderReport,
        window: int,
        in_order: bool,
        gives_lanes: bool = False,
        no_workers: str = "fail",
        tell_draws: bool = False,
    ) -> None:
        self.raw = service.call(
            service.client().open_session,
            plan.to_dict(),
            max_outstanding=window,
            in_order=in_order,
            max_arena_bytes=options.from_environment().memory_bytes,
            gives_lanes=gives_lanes,
            compare_every=options.from_environment().compare,
            only_worker=_only_worker.get(),
            wire=options.from_environment().wire,
            no_workers=no_workers,
            tell_draws=tell_draws,
            answer_names=answers.allowed(),
            closed_modules=answers.CLOSED,
            sample_deadline=options.from_environment().native_deadline,
        )
        self._pid = os.getpid()
        self._report = report
        self._reported: dict[str, Any] = {}
        self._idle = device.idle_meter(self.raw.add_idle)
        REPORT.watch(weakref.ref(self))
        _open.add(self)

    def is_mine(self) -> bool:
        """False in a process that was forked from the one that opened it."""
        return os.getpid() == self._pid

    def enter_next(self) -> None:
        """The program asks for a batch."""
        if self._idle is not None:
            self._idle.enter()
        if self.raw is not None:
            self.raw.enter_next()

    def leave_next(self) -> None:
        """It goes on."""
        if self.raw is not None:
            self.raw.leave_next()
        if self._idle is not None:
            self._idle.leave()

    def flush_report(self) -> None:
        """Adds what happened since the last call to the loader's report."""
        if self.raw is None or os.getpid() != self._pid:
            return
        if self._idle is not None:
            self._idle.settle()
        try:
            now = self.raw.stats()
        except binding.HeadraceError:
            return  # the service has ended, and this was reported before
        self._report.session_ended(_since(self._reported, now))
        self._reported = now

    def count_for(self, report: LoaderReport) -> None:
        """What happens from now on is of another loader."""
        self.flush_report()
        self._report = report

    def arena_bytes(self) -> int:
        """The memory that it holds for batches."""
        try:
            return int(self.raw.stats()["arena_bytes"])
        except binding.HeadraceError:
            return 0  # the service has ended

    def before_fork(self) -> int:
        """Batches that the program holds stay as they are while a child may read them. Returns the
        descriptor by which the children are known to live; -1: there is none."""
        return self.raw.before_fork() if self.raw is not None and os.getpid() == self._pid else -1

    def close(self) -> None:
        """Frees leases and memory at once. Idempotent."""
        if os is None or self.raw is None or os.getpid() != self._pid:
            return  # closed, another process's, or the interpreter ends
        self.flush_report()
        self.raw.close()
        self.raw = None

    def __del__(self) -> None:
        if getattr(self, "raw", None) is not None and os is not None:
            self.close()


def _since(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    change: dict[str, Any] = {}
    for name, value in now.items():
        if isinstance(value, dict):
            change[name] = _since(before.get(name, {}), value)
        elif name in binding.session_gauges or isinstance(value, bool):
            change[name] = value
        else:
            change[name] = value - before.get(name, 0)
    return change


def _before_fork() -> None:
    descriptors = [handle.before_fork() for handle in list(_open)]
    _inheritance.descriptors = [fd for fd in descriptors if fd >= 0]


def _after_fork_in_parent() -> None:
    for descriptor in _inheritance.__dict__.pop("descriptors", ()):
        os.close(descriptor)


def release_inherited() -> None:
    """Called in a child that reads no batch of the program, so that their memory need not wait for
    its end."""
    _after_fork_in_parent()


# This does not run for subprocess, which starts another program: no memory is inherited. In the
# child the descriptors stay open while it lives.
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent)
