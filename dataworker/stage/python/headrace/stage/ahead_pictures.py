"""Pictures that the worker has decoded ahead of this lane's code, where its readers find them.

They lie in memory that the worker writes and this process reads. What is opened is copied out of it at once: when
the lane has passed a sample, its pictures make room for others. A picture is named by the state of its file, as
leaves are (leaf_keys.py). The first ones, and then one in 64, are decoded here, too, and compared.
"""

import io
import os
import threading
import time
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from ..process.output import tell
from .leaf_keys import Content, content_of

# How they are decoded; as PicturesAhead::As.
PIL, RGB, BGR, GRAY = range(1, 5)
_CHECKED, _CHECKS_EACH = 2, 64


class Row(NamedTuple):
    """As PicturesAhead::Row."""

    number: int  # of the sample
    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    offset: int
    bytes: int
    width: int
    height: int
    took_ns: int  # CPU
    decoded_as: int


class Taken(NamedTuple):
    pixels: Any  # uint8, the caller's own
    seconds: float  # of CPU, that it took to decode
    compares: bool  # the caller decodes it, too, and says whether it differs


class Noted(NamedTuple):
    pictures: int
    seconds: float
    parts: int
    wanted: int  # how most of them are decoded; 0: none was


class Pictures:
    """One process's. Thread-safe; a fork has none."""

    def __init__(self) -> None:
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._view: memoryview | None = None
        self._rows: dict[Content, list[Row]] = {}
        self._taken = self._used = 0
        self._pictures = self._parts = self._wanted = 0
        self._seconds = 0.0
        self.saved = 0.0  # seconds that the worker has spent in the place of this process
        self.differed = False

    @property
    def has_memory(self) -> bool:
        return self._view is not None

    def share(self, view: memoryview) -> None:
        """From now on rows lie in this memory. Those that are there lie in another, so they are forgotten."""
        with self._lock:
            self._rows.clear()
            self._view = view

    def leave(self) -> None:
        """Forgets the rows and their memory. Before the worker hears that memory is wanted: it may write something
        else there then."""
        with self._lock:
            self._rows.clear()
            self._view = None

    def add(self, rows: list[Row]) -> None:
        with self._lock:
            if self._view is None:
                return
            for row in rows:
                if not self.differed:
                    self._rows.setdefault(Content(*row[1:6]), []).append(row)

    def passed(self, number: int) -> tuple[int, int]:
        """The samples before this one are over. Returns how many of their pictures were taken, and not."""
        with self._lock:
            lost = 0
            for content, rows in list(self._rows.items()):
                kept = [row for row in rows if row.number >= number]
                lost += len(rows) - len(kept)
                if kept:
                    self._rows[content] = kept
                else:
                    del self._rows[content]
            used, self._used = self._used, 0
            return used, lost

    def clear(self) -> None:
        with self._lock:
            self._rows.clear()

    def take(
        self, content: Content | None, decoded_as: int, shape: tuple[int, ...]
    ) -> Taken | None:
        """None: it is not there."""
        if not self._rows or content is None or self._pid != os.getpid():
            return None
        with self._lock:
            rows = self._rows.get(content)
            if not rows or self._view is None:
                return None
            row = rows[0]
            fits = (
                row.decoded_as == decoded_as
                and (row.height, row.width) == shape[:2]
                and row.bytes == int(np.prod(shape))
            )
            if not fits or row.offset + row.bytes > len(self._view):
                return None
            pixels = np.empty(shape, np.uint8)
            there = np.frombuffer(self._view, np.uint8, row.bytes, row.offset)
            pixels.reshape(-1)[:] = there
            del rows[0]
            if not rows:
                del self._rows[content]
            self._taken += 1
            self._used += 1
            self.saved += row.took_ns / 1e9
            compares = self._taken <= _CHECKED or self._taken % _CHECKS_EACH == 0
            return Taken(pixels, row.took_ns / 1e9, compares)

    def note(self, decoded_as: int, seconds: float, is_part: bool) -> None:
        """The lane has decoded one by itself."""
        if is_part:
            self._parts += 1
            return
        self._pictures += 1
        self._seconds += seconds
        self._wanted = decoded_as

    def noted(self) -> Noted:
        """Since the last call."""
        noted = Noted(self._pictures, self._seconds, self._parts, self._wanted)
        self._pictures = self._parts = self._wanted = 0
        self._seconds = 0.0
        return noted

    def differ(self, library: str) -> None:
        """What was taken last is not what this process makes of it."""
        self.differed = True
        self.clear()
        tell(
            f"headrace: a picture that was decoded ahead has other bits than {library} gives here: none is"
            " decoded ahead any more"
        )


# Of this process; None: it has none.
here: Pictures | None = None


class Decoding:
    """Notes the time that one picture takes. `is_part`: no more of it than is shown."""

    def __init__(self, decoded_as: int, is_part: bool = False) -> None:
        self._as, self._is_part = decoded_as, is_part

    def __enter__(self) -> None:
        self._before = time.thread_time() if here is not None else 0.0

    def __exit__(self, *_: object) -> None:
        if here is not None:
            here.note(self._as, time.thread_time() - self._before, self._is_part)


def saved() -> float:
    """Seconds of CPU that this process was saved until now."""
    return 0.0 if here is None else here.saved


def taken(content: Content | None, decoded_as: int, shape: tuple[int, ...]) -> Taken | None:
    return None if here is None else here.take(content, decoded_as, shape)


class _Source(Protocol):
    made_ahead: Taken | None

    def is_kept(self) -> bool: ...


S = TypeVar("S", bound=_Source)


def given(source: S, stream: Any, size: tuple[int, int]) -> S:
    """A render.Source of this stream, all of which was read, with its pixels if they are there."""
    if here is None or not here._rows or type(stream) is not io.BufferedReader:
        return source
    if type(stream.raw) is not io.FileIO or source.is_kept():
        return source
    try:
        content = content_of(os.fstat(stream.fileno()))
    except (OSError, ValueError):
        return source
    source.made_ahead = here.take(content, PIL, (size[1], size[0], 3))
    return source
