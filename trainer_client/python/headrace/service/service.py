"""The process's one connection to the service, and its end."""

import _thread
import atexit
import contextlib
import os
import sys
import threading
import time
from typing import Any

from ..errors import (
    CoordinatorUnavailable,
    HeadraceError,
    OutOfMemory,
    Unsupported,
    VersionMismatch,
    WorkersUnavailable,
)
from ..native import binding
from ..process.standard_streams import keep_numbers
from . import options
from .report import REPORT, print_line

_ROOM_PAUSE = 1.0  # s between two questions to a full coordinator
_SAY_AGAIN = 60.0  # s

_lock = threading.Lock()
_client: Any = None
_abandoned: list[Any] = []  # of the parent process; a forked child must not run their destructors


def client() -> Any:
    """The connection; the first call makes it, which starts the private service if there is no
    coordinator. Waits for a coordinator that has no room for another job. Raises
    CoordinatorUnavailable."""
    waiting = _WaitForRoom()
    while True:
        connected = _connect_once(waiting)
        if connected is not None:
            return connected
        time.sleep(_ROOM_PAUSE)  # without the lock: close() may come meanwhile


def _connect_once(waiting: "_WaitForRoom") -> Any:
    """None: the coordinator has no room now."""
    global _client
    with _lock:
        if _client is None:
            settings = options.from_environment()
            try:
                _client = _connect(settings)
                options.keep_now()
            except binding.HeadraceError as error:
                if not waiting.goes_on(error, settings):
                    raise translate(error, connecting=settings) from None
        return _client


class _WaitForRoom:
    """Whether a program waits that its coordinator has no room for, and its line a minute."""

    def __init__(self) -> None:
        self._say_at = 0.0

    def goes_on(self, error: Exception, settings: options.Options) -> bool:
        full = getattr(error, "code", "") == "ResourceExhausted" and bool(settings.coordinator)
        if not full or settings.no_workers == "fail":
            return False
        now = time.monotonic()
        if now >= self._say_at:
            self._say_at = now + _SAY_AGAIN
            print_line(
                f"headrace: coordinator {settings.coordinator} has no room for this program yet: "
                f"{error}; the program waits until others end"
            )
        return True


def begin() -> None:
    """Starts the private service meanwhile: client() then waits for it, and says what went wrong.
    Nothing with a coordinator. Its thread has ended when client() returns."""
    keep_numbers()
    if _client is None and not options.from_environment().coordinator:
        with contextlib.suppress(RuntimeError):  # no thread is available
            _thread.start_new_thread(_connect_quietly, ())  # unseen by threading's hooks


def _connect_quietly() -> None:
    with contextlib.suppress(Exception):
        client()


def _connect(settings: options.Options) -> Any:
    return binding.Client(
        coordinator=settings.coordinator,
        keys=settings.keys,
        binary=options.find_binary(),
        workers=settings.workers,
        threads=settings.threads,
        cache_bytes=settings.cache_bytes,
        job_name=os.path.basename(sys.argv[0]) or "python",
        local_worker=settings.local_worker,
        tenant=settings.tenant,
        priority=settings.priority,
        group=settings.group,
        rank=settings.rank,
        link=settings.link,
        rack=settings.rack,
        warm=settings.warm,
    )


def translate(error: Exception, connecting: options.Options | None = None) -> HeadraceError:
    """The error class of the package for one of the native client."""
    message = str(error)
    code = getattr(error, "code", "")
    if code == "OtherRelease":
        return VersionMismatch(message)
    if connecting is not None:
        where = f"coordinator {connecting.coordinator}" if connecting.coordinator else "service"
        return CoordinatorUnavailable(f"{where}: {message}")
    if code == "ResourceExhausted":
        return OutOfMemory(message)
    if code == "Unavailable":
        return WorkersUnavailable(message)
    if code == "Unsupported":
        return Unsupported(message)
    return HeadraceError(message)


def call(function: Any, *args: Any, **named: Any) -> Any:
    """`function` of the native client, with the error classes of the package."""
    try:
        return function(*args, **named)
    except binding.HeadraceError as error:
        raise translate(error) from None


def close() -> None:
    """Writes the report and ends the connection, and with it the private service. Idempotent."""
    global _client
    with _lock:
        ended, _client = _client, None
    if ended is not None:
        REPORT.service_ended(ended.coordinator_endpoint, ended.service_cpu_seconds())
    REPORT.write()
    if ended is not None:
        ended.close()


def _after_fork_in_child() -> None:
    global _client, _lock
    _lock = threading.Lock()
    if _client is not None:
        _abandoned.append(_client)
        _client = None


atexit.register(close)
os.register_at_fork(after_in_child=_after_fork_in_child)
