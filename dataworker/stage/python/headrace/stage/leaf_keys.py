"""Which leaf a lane wants: a file's content, and what was made of it (leaves.py).

A file's content is named as everywhere (FileReader of the worker): device, inode, size, and both of its times.
What is made of it is named by a text: function, arguments, and the build of the library.
"""

import functools
import hashlib
import os
import re
import stat
import struct
import time
from contextlib import suppress
from typing import Any, NamedTuple

from ..process import began

# A change within one step of the clock for files leaves a file's times as they are. Steps take 10 ms or less.
STEP_NS = 20_000_000

_WORDS = struct.Struct("<7Q")
_TWO = struct.Struct("<2Q")
# Environment that changes what libraries make of a file.
_SPEAKS = ("JSIMD_", "OPENCV_IO_")


class Content(NamedTuple):
    """The state of a regular file."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    def is_settled(self, now_ns: int) -> bool:
        """Whether every later change makes another state. `now_ns`: of the system's clock."""
        return now_ns - self.ctime_ns >= STEP_NS


class Key(NamedTuple):
    tag: int
    words: tuple[int, ...]  # place (2), version (3), form (2)


def content_of(state: os.stat_result) -> Content | None:
    """None: it is no regular file."""
    if not stat.S_ISREG(state.st_mode):
        return None
    return Content(
        state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
    )  # fmt: skip


def content_at(path: Any) -> Content | None:
    """Of the file there, if this process may read it. Raises nothing."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None  # to open a pipe is heard at its other end
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return content_of(os.fstat(fd))
        finally:
            os.close(fd)
    except (OSError, ValueError, TypeError):
        return None


def opened_before(fd: int) -> Content | None:
    """The state of an open file that has not changed since before this program began. So whatever a library knows of
    it is of this state, however long ago it looked. None: it has changed, or may have."""
    content = content_of(os.fstat(fd))
    return content if content is not None and content.is_settled(began.ns) else None


def now_ns() -> int:
    return time.time_ns()


@functools.lru_cache(maxsize=4096)
def form_of(text: str) -> tuple[int, int]:
    """The name of what is made. `text`: all that it depends on, beside the file."""
    low, high = _TWO.unpack(hashlib.blake2b(text.encode(), digest_size=16).digest())
    return low, high


def key_of(content: Content, form: tuple[int, int]) -> Key:
    mask = (1 << 64) - 1
    return key_of_words(tuple(word & mask for word in (*content, *form)))


def key_of_words(words: tuple[int, ...]) -> Key:
    """Of seven."""
    tag = hashlib.blake2b(_WORDS.pack(*words), digest_size=8).digest()
    return Key(int.from_bytes(tag, "little"), words)


@functools.cache
def libraries() -> list[tuple[str, ...]]:
    """The libraries that this process has loaded: path in small letters, and the state of the file. Takes some
    milliseconds, once: called before the fork of lanes, these have it from there."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        lines = [line.split(maxsplit=5) for line in maps if ".so" in line]
    found = []
    for path in sorted({parts[5].rstrip("\n") for parts in lines if len(parts) == 6}):
        with suppress(OSError):  # it was replaced
            state = os.stat(path)
            words = state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns
            found.append((path.lower(), *map(str, words)))
    return found


@functools.cache
def build_of(names: str) -> str:
    """Tells builds of libraries apart. `names`: a pattern of their files' names, of those that are loaded."""
    spoken = sorted(item for item in os.environ.items() if item[0].startswith(_SPEAKS))
    return repr((files_of(names), spoken))


# What a lane's environment says is asked for in the lane.
os.register_at_fork(after_in_child=build_of.cache_clear)


@functools.cache
def files_of(names: str) -> list[tuple[str, ...]]:
    """Of libraries that are loaded. To look takes a millisecond, once: lanes have it from the trainer."""
    wanted = re.compile(names)
    found = [one for one in libraries() if wanted.search(one[0])]
    if not found:  # loaded since somebody looked
        libraries.cache_clear()
        found = [one for one in libraries() if wanted.search(one[0])]
    return found
