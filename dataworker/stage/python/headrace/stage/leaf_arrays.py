"""Arrays as leaves, and library functions that read one from a file by its path (functions.py).

Whoever finds one gets a copy, in memory that is the array's own: `flags.owndata`, `base`, and a resize in place
are what they are of the library's array. A map of the cached pages would save the copy, and not have these.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import PosixPath
from typing import Any, NamedTuple

import numpy as np

from . import ahead_pictures
from .leaf_cost import Worth
from .leaf_keys import Content, Key, content_at, form_of, key_of, now_ns
from .leaves import Leaves

_HEAD = 64  # bytes that the head of an entry takes, or a multiple of it
_KINDS = "biufc"
_STDERR = 2


class Plain(NamedTuple):
    """An array's shape, and that of the array that it is a view of; none: it has its own memory."""

    dtype: str
    shape: tuple[int, ...]
    base: tuple[int, ...] | None


def plain(value: Any) -> Plain | None:
    """None: the array can't be made again with all that a program may see of it."""
    if type(value) is not np.ndarray or value.dtype.kind not in _KINDS or not value.size:
        return None
    if not value.flags.c_contiguous or not value.flags.writeable or not value.dtype.isnative:
        return None
    if value.flags.owndata:
        return Plain(value.dtype.str, value.shape, None)
    base: Any = value.base
    is_all = (
        type(base) is np.ndarray
        and base.flags.owndata
        and base.flags.c_contiguous
        and base.flags.writeable
        and base.dtype == value.dtype
        and base.size == value.size
        and base.ctypes.data == value.ctypes.data
    )
    return Plain(value.dtype.str, value.shape, base.shape) if is_all else None


def packed(
    value: Any, more: Any = None, form: Plain | None = None
) -> tuple[bytes, memoryview] | None:
    """The parts of an entry; None: it is no entry. `more`: what JSON takes, beside the array. `form`: of the array
    that is to be found, where `value` is only its memory."""
    form = form or plain(value)
    if form is None:
        return None
    text = json.dumps([*form, more]).encode()
    head = len(text).to_bytes(4, "little") + text
    head += b"\0" * (-len(head) % _HEAD)
    return head, memoryview(value.reshape(-1).view(np.uint8))


def unpacked(entry: memoryview) -> tuple[Any, Any]:
    """A new array, and what came beside it."""
    size = int.from_bytes(entry[:4], "little")
    dtype, shape, base, more = json.loads(bytes(entry[4 : 4 + size]))
    begin = (4 + size + _HEAD - 1) // _HEAD * _HEAD
    made: Any = np.empty(tuple(shape if base is None else base), np.dtype(dtype))
    made.reshape(-1).view(np.uint8)[:] = np.frombuffer(entry, np.uint8, made.nbytes, begin)
    return (made if base is None else made.reshape(tuple(shape))), more


class ArrayLeaf:
    """How a function's results are leaves. `form`: what this call's result depends on; None: it is no leaf. It
    may raise."""

    def __init__(
        self,
        name: str,
        build: Callable[[], str],
        form: Callable[..., Any],
        quiet: bool = False,
        to_array: Callable[[Any], tuple[Any, Any] | None] = lambda value: (value, None),
        from_array: Callable[[Any, Any], Any] = lambda array, more: array,
    ) -> None:
        """`quiet`: the library may write to standard error what nobody would write at a hit: what did so is not
        kept. `to_array`, `from_array`: results that are more than an array, and back."""
        self.name, self._build, self._form, self._quiet = name, build, form, quiet
        self._to, self._from = to_array, from_array
        self.worth = Worth()

    def prepare(self) -> None:
        """In a process that forks lanes: what they need not look for."""
        self._build()

    def found(self, entry: memoryview) -> Any:
        self.worth.note(True)
        return self._from(*unpacked(entry))

    def make(
        self, leaves: Leaves, wanted: Any, read: Callable[..., Any], args: Any, named: Any
    ) -> Any:
        """What `read` returns or raises; keeps it, if that is worth it."""
        began, heard = now_ns(), [False]
        with listening(heard) if self._quiet and leaves.may_keep else nullcontext():
            # What it takes to listen is not the library's; what the worker has done in its place is.
            before = time.thread_time() + ahead_pictures.saved()
            value = read(*args, **named)
            seconds = time.thread_time() + ahead_pictures.saved() - before
        try:
            if leaves.may_keep:
                self._keep(leaves, wanted, value, began, seconds, heard[0])
        except Exception:  # of a result that is unlike all others
            pass
        return value

    def _keep(
        self, leaves: Leaves, wanted: Any, value: Any, began: int, seconds: float, heard: bool
    ) -> None:
        """`heard`: the library wrote to standard error."""
        raise NotImplementedError


class FileLeaf(ArrayLeaf):
    """Of a function that takes a path. `form`: takes what the function takes beside it, and returns all else
    that its result depends on, as text."""

    def rests(self, leaves: Leaves) -> bool:
        """Whether a call is not looked at: nothing is there and nothing would be kept, or what was made lately
        was neither found nor worth its keeping."""
        return leaves.is_idle or not self.worth.is_likely()

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> "Wanted | None":
        """None: the call is none whose result is a leaf."""
        try:
            path, *rest = args
            if type(path) not in (str, PosixPath):
                return None
            text = self._form(*rest, **named)
            content = None if text is None else self._state(path)
            if content is None:
                return None
            ending = os.path.splitext(path)[1]  # some open packed files by it
            whole = f"{self.name}\n{ending}\n{text}\n{self._build()}"
            return Wanted(path, content, key_of(content, form_of(whole)))
        except Exception:
            return None  # the library meets it too, in its own way

    def _state(self, path: Any) -> Content | None:
        return content_at(path)

    def _is_silent(self, path: Any) -> bool:
        """Whether reading it comes without a warning, as far as that is not heard."""
        return True

    def _keep(
        self, leaves: Leaves, wanted: "Wanted", value: Any, began: int, seconds: float, heard: bool
    ) -> None:
        array, more = self._to(value) or (None, None)
        if is_worth := not heard and type(array) is np.ndarray:
            takes = self.worth.undisturbed(seconds, array.nbytes)
            is_worth = leaves.keeps(takes, array.nbytes)
        if not self.worth.note(is_worth):
            return
        parts = packed(array, more)
        same = self._is_silent(wanted.path) and self._state(wanted.path) == wanted.content
        if parts is not None and same:
            leaves.offer(wanted.key, wanted.content.ctime_ns, began, parts, seconds)


class Wanted(NamedTuple):
    path: Any
    content: Content
    key: Key


@contextmanager
def listening(heard: list[bool]) -> Iterator[None]:
    """Says whether something was written to standard error meanwhile, and hands it on. Where code of the
    program's runs in another thread, which may fork meanwhile, nobody listens, and that counts as heard."""
    if threading.active_count() > 1:
        heard[0] = True
        yield
        return
    with os.fdopen(os.memfd_create("headrace-stderr", os.MFD_CLOEXEC), "rb") as memory:
        own = os.dup(_STDERR)
        os.dup2(memory.fileno(), _STDERR)
        try:
            yield
        finally:
            os.dup2(own, _STDERR)
            said = memory.seek(0, os.SEEK_END)
            if said:
                heard[0] = True
                memory.seek(0)
                os.write(own, memory.read())
            os.close(own)
