"""Which files the code of a lane opens (ahead.py). Python tells of its own by audit events; the doors of libraries
that read by themselves (functions.py, torchvision's read_file) say it here.

A hook for audit events can't be taken out again, and each event then costs a tenth of a microsecond. So it is put in
where a lane waits for files, and nowhere else.
"""

import functools
import os
import sys
from typing import Any

from ..native.genuine import is_genuine

# What the sample at hand has opened; None: nobody wants to know.
files: set[str] | None = None
_WRITES = os.O_WRONLY | os.O_RDWR
_NOT_FILES = ("/proc/", "/sys/", "/dev/")
_hooked = False


def see(path: Any) -> None:
    """A library is about to read this file."""
    if files is not None and isinstance(path, str | os.PathLike):
        name = os.fspath(path)
        if isinstance(name, str) and not name.startswith(_NOT_FILES):
            files.add(name)


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and files is not None:
        path, _, flags = args
        if type(flags) is int and not flags & _WRITES:
            see(path)


def listen() -> None:
    """From now on. Once in a process."""
    global _hooked
    if _hooked:
        return
    _hooked = True
    sys.addaudithook(_heard)
    image: Any = sys.modules.get("torchvision.io.image")
    real = getattr(image, "read_file", None)
    if real is None or not is_genuine(real, "torchvision"):
        return

    @functools.wraps(real)
    def read_file(path: Any, *args: Any, **named: Any) -> Any:
        see(path)
        return real(path, *args, **named)

    image.read_file = read_file
