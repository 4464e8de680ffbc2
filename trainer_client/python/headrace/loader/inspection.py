"""`headrace explain` and `headrace verify`: the program stops where a DataLoader's first iter() is.

The command line (cli/inspection.h) runs the program as its child and names in
HEADRACE_INSPECT two of its own descriptors. Whichever process of the program comes to its loader
first takes the only byte of `turn`, looks at its loaders and writes to `answer`; all of them end when
`turn` has no writer any more. None runs any more of the program's own code then: no `finally`, no
atexit, no checkpoint.
"""

import json
import os
import select
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import HeadraceError
from ..records import dataclass

_VARIABLE = "HEADRACE_INSPECT"
_INTERRUPTED = 130


@dataclass(frozen=True)
class Inspection:
    what: str  # "explain" or "verify"
    loaders: int  # the program stops at the first iter() of this one, from 1
    batches: int  # of each loader, for verify
    workers: bool  # verify each worker by itself
    json: bool
    svg: str  # path; empty: no picture
    answer: str  # paths of the command line's descriptors
    turn: str


Look = Callable[[Any, Inspection], tuple[int, str]]

_look_at: Look | None = None
_reached: "weakref.WeakSet[Any]" = weakref.WeakSet()
_count = 0
_lock = threading.Lock()
_looking: int | None = None  # the thread that looks at the loaders, and may iterate them


def look_with(look: Look) -> None:
    """Sets the function, of the package's root, that looks at the loaders, from the one that is
    being iterated. It returns the exit code and what to print."""
    global _look_at
    _look_at = look


def wanted() -> bool:
    return _VARIABLE in os.environ or _looking is not None


def watch() -> None:
    """Ends this process with the inspection, whatever it is doing then. Other ranks, for example,
    wait for the one that looked at its loaders."""
    if not wanted():
        return
    turn = _open(_settings().turn, os.O_RDONLY)

    def wait() -> None:
        poller = select.poll()
        poller.register(turn, 0)
        poller.poll()
        os._exit(0)

    threading.Thread(target=wait, name="headrace-inspection", daemon=True).start()


def reached(loader: Any) -> None:
    """iter() of a loader. Does not return where the inspection takes place."""
    global _count, _looking
    if _looking == threading.get_ident():
        return
    if _looking is not None:
        threading.Event().wait()  # this thread has nothing to do any more
    settings = _settings()
    with _lock:
        if loader in _reached:
            return
        _reached.add(loader)
        _count += 1
        if _count < settings.loaders:
            return
    try:
        if not os.read(_open(settings.turn, os.O_RDONLY), 1):
            os._exit(0)  # another process has looked at its loaders
        _looking = threading.get_ident()
        os.environ.pop(_VARIABLE)  # the workers' processes are none of the program's
        code, text = _look(loader, settings)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    _end(settings, code, text)


def _settings() -> Inspection:
    return Inspection(**json.loads(os.environ[_VARIABLE]))


def _open(path: str, flags: int) -> int:
    try:
        return os.open(path, flags | os.O_CLOEXEC)
    except OSError as error:
        print(f"headrace: no way back to the command line: {error}", file=sys.stderr)
        os._exit(1)


def _look(loader: Any, settings: Inspection) -> tuple[int, str]:
    assert _look_at is not None
    try:
        return _look_at(loader, settings)
    except HeadraceError as error:
        print(f"headrace: {error}", file=sys.stderr)
    except Exception:
        traceback.print_exc()
    return 1, ""


def _end(settings: Inspection, code: int, text: str) -> NoReturn:
    from ..service import service

    try:
        service.close()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        answer = text.encode()
        rest = memoryview(f"{code} {len(answer)}\n".encode() + answer)
        out = _open(settings.answer, os.O_WRONLY)
        while rest:
            rest = rest[os.write(out, rest) :]
    finally:
        os._exit(code)
