"""What a call does beside returning a value: files that it reads and writes, random numbers that it draws, processes
and connections. Python tells of them by its audit events; files that a library reads by itself show as system calls.

What nobody can see here: the clock, the environment, a library's memory, and files that a library maps. Results are
made again and compared for these (cached_calls.py).
"""

import os
import pickle
import random
import sys
import time
from collections.abc import Iterable
from typing import Any

from . import leaf_files, leaf_segment
from .leaf_keys import Content, content_at, now_ns

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NOT_FILES = ("/proc/", "/sys/", "/dev/")
# Audit events after which a result is not the function's alone. With a dot at the end: all of that kind.
_DEEDS = (
    "os.chdir", "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.link",
    "os.listdir", "os.mkdir", "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir",
    "os.scandir", "os.setxattr", "os.symlink", "os.system", "os.truncate", "os.unsetenv", "os.utime",
    "shutil.", "signal.", "socket.", "sqlite3.", "subprocess.", "tempfile.", "urllib.", "webbrowser.",
    "_thread.start_new_thread", "fcntl.",
)  # fmt: skip
_TIMES, _BUFFER = 2, 64 << 10  # readers that open a file look at its head, and begin again
_active: list["Witness"] = []
_hooked = False


class Witness:
    """Of one call. Calls within it are its own."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        """`paths`: which the call may read without a sign, where there is a file."""
        # As each was when it was first opened; None: there was no file.
        self.files: dict[str, Content | None] = {path: content_at(path) for path in paths}
        self.deed = ""  # what it did beside; empty: nothing was seen
        self.spoilt = ""  # why this result can't be kept, though the function may be all right
        self.loads = False  # a module was imported: its code has run, too
        self.began = now_ns()
        self.seconds = 0.0  # of CPU

    def __enter__(self) -> "Witness":
        _hook()
        self._drawn = generators()
        self._calls = _calls()
        _active.append(self)
        self._before = time.thread_time()
        return self

    def __exit__(self, *_: Any) -> None:
        self.seconds = time.thread_time() - self._before
        _active.remove(self)
        calls = _calls()
        if not self.deed and differ(self._drawn, generators()):
            self.deed = "draws random numbers"
        if self._calls is not None and calls is not None and not self.spoilt:
            reads, writes, size = (a - b for a, b in zip(calls, self._calls, strict=True))
            if reads > 0 and (not self.files or size > self._likely()):
                self.spoilt = "it reads files that Python does not open"
            elif writes > 0:
                self.spoilt = "it writes"

    def _likely(self) -> int:
        """Bytes that who reads these files reads at most, as a rule."""
        known = [content.size for content in self.files.values() if content is not None]
        return sum(_TIMES * size + _BUFFER for size in known)

    def holds(self) -> bool:
        """Whether all files are as they were when they were opened, and can't have changed unseen."""
        return all(
            content == content_at(path) and (content is None or content.is_settled(self.began))
            for path, content in self.files.items()
        )

    def see(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "import":
            self.loads = True
        elif event == "open":
            # What our own code opens by its path is what a library would have read.
            if not (self.loads and _imports()) and not (isinstance(args[0], int) and _is_ours()):
                self._open(*args[:3])
        elif self.deed or not event.startswith(_DEEDS):
            pass
        elif not (self.loads and _imports()) and not _is_ours():
            self.deed = f"does what Python calls {event}"

    def _open(self, path: Any, mode: Any, flags: Any) -> None:
        if isinstance(path, int):
            self.spoilt = self.spoilt or "it reads a file that was opened before"
            return
        name = os.path.abspath(os.fsdecode(path))
        if type(flags) is int and flags & _WRITES:
            self.deed = self.deed or f"writes {name}"
        elif name.startswith(_NOT_FILES):
            self.spoilt = self.spoilt or f"it reads {name}"
        elif name not in self.files:
            self._note(name)

    def _note(self, name: str) -> None:
        content = self.files[name] = _unheard(name)
        if content is None:
            self.spoilt = self.spoilt or f"it reads {name}, which is no regular file"


def _imports() -> bool:
    """Whether Python's import system asks, or the code of a module that is imported."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _is_ours() -> bool:
    """Whether our own code asks, or a function of Python's for it, in the place of a library's function."""
    frame: Any = sys._getframe(3)  # this one's, see()'s and the hook's are above it
    for _ in range(2):
        name = "" if frame is None else frame.f_code.co_filename
        if name.startswith(_OURS) and not name.endswith(_CALLS):
            return True
        frame = None if frame is None else frame.f_back
    return False


_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_CALLS = "cached_calls.py", "found_calls.py"  # are above all functions that are served


def read(paths: Iterable[str]) -> None:
    """Files that a call within the active ones has read, seen or not."""
    names = None
    for witness in _active:
        names = list(paths) if names is None else names
        for name in names:
            if name not in witness.files:
                witness._note(name)


def spoil(why: str) -> None:
    for witness in _active:
        witness.spoilt = witness.spoilt or why


def is_active() -> bool:
    return bool(_active)


def _hook() -> None:
    global _hooked
    if not _hooked:
        _hooked = True
        sys.addaudithook(_heard)


_deaf = False
_looks = 0  # at the counts of system calls, which are reads themselves


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if _active and not _deaf:
        for witness in _active:
            try:
                witness.see(event, args)
            except Exception:
                witness.spoilt = witness.spoilt or f"of {event}"


def _unheard(path: str) -> Content | None:
    """Its own look at the file is no matter of the call."""
    global _deaf
    before, _deaf = _deaf, True
    try:
        return content_at(path)
    finally:
        _deaf = before


def generators() -> tuple[Any, ...]:
    """States of Python's generator, NumPy's and torch's. None for one that is not there, or that the program has
    put something else in the place of."""

    def of_numpy() -> Any:
        state = sys.modules["numpy.random"].mtrand._rand.get_state(legacy=False)
        return pickle.dumps(state, protocol=5)

    def of_torch() -> Any:
        return sys.modules["torch"].get_rng_state().numpy().tobytes()

    states: list[Any] = []
    for state in (random.getstate, of_numpy, of_torch):
        try:
            states.append(state())
        except Exception:
            states.append(None)
    return tuple(states)


def differ(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    """A library that was loaded meanwhile has drawn nothing of the program's."""
    return any(a is not None and a != b for a, b in zip(before, after, strict=True))


def _calls() -> tuple[int, int, int] | None:
    """Reads and writes of the code in this thread until now, and bytes that it read; None: the kernel does not say."""
    global _deaf, _looks
    before, _deaf = _deaf, True
    try:
        _looks += 1
        fd = os.open("/proc/thread-self/io", os.O_RDONLY | os.O_CLOEXEC)
        try:
            words = os.read(fd, 512).split()
        finally:
            os.close(fd)
        reads, size = int(words[5]) - _looks - leaf_files.reads, int(words[1]) - leaf_files.read
        return reads, int(words[7]) - leaf_segment.writes, size
    except (OSError, IndexError, ValueError):
        return None
    finally:
        _deaf = before
