"""Which file a handle is of, and that it will be the same one for whoever opens it by its path."""

import fcntl
import os
import stat
import time
from contextlib import suppress

from ...stage.handles.files import Seen, content_of, place_of

_MOST_KNOWN = 1024  # files whose content is remembered
_TICK = 50_000_000  # ns: a file that was written later than that may be written again unseen

_known: dict[tuple[object, ...], bytes] = {}


class Refused(Exception):
    """Something whose pickle would not mean the same thing elsewhere."""


def path_of(fd: int) -> str:
    """Where the file of a descriptor lies now. Raises Refused."""
    try:
        path = os.readlink(f"/proc/self/fd/{fd}")
        there, here = os.stat(path), os.fstat(fd)
    except OSError:
        raise Refused("is open on a file that is not there any more") from None
    if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
        raise Refused("is open on a file that is not there any more")
    return path


def seen_at(path: str) -> Seen:
    """The file that lies there. Raises Refused. Reads 1 MiB at most, once for each state of a file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Refused(f"is open on {path}, which can't be opened again: {error.strerror}") from None
    try:
        file = os.fstat(fd)
        if not stat.S_ISREG(file.st_mode):
            raise Refused(f"is open on {path}, which is no file on a disk")
        _check_writers(file, path)
        place = place_of(file)
        content = _known.get((place, file.st_size))
        if content is None:
            content = content_of(fd, file.st_size)
            if _is_settled(file) and _is_settled(os.fstat(fd)):
                if len(_known) >= _MOST_KNOWN:
                    _known.clear()
                _known[place, file.st_size] = content
    finally:
        os.close(fd)
    return Seen(path, file.st_size, place, content)


def _is_settled(file: os.stat_result) -> bool:
    return file.st_ctime_ns + _TICK < time.time_ns()


def _check_writers(file: os.stat_result, path: str) -> None:
    """Raises Refused where this process may still write to the file: other hosts would not see it, or
    later."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed meanwhile
            fd = int(name)
            there = os.fstat(fd)
            if (there.st_dev, there.st_ino) != (file.st_dev, file.st_ino):
                continue
            if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY:
                raise Refused(f"is open on {path}, to which the program may still write")
