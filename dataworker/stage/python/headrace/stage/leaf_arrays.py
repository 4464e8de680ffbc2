"""Arrays as leaves, and library functions that read one from a file by its path (functions.py).

Whoever finds one gets a copy, in memory that is the array's own: `flags.owndata`, `base`, and a resize in place
are what they are of the library's array. A map of the cached pages would save the copy, and not have these.
"""

import itertools
import json
import math
import operator
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import PosixPath
from typing import Any, Literal, NamedTuple

import numpy as np

from . import ahead_pictures, leaf_cost
from .leaf_cost import Parts, Worth
from .leaf_keys import Content, Key, content_at, form_of, key_of, now_ns
from .leaves import Leaves

_HEAD = 64  # bytes that the head of an entry takes, or a multiple of it
_KINDS = "biufc"
_STDERR = 2


class Plain(NamedTuple):
    """How an array lies in memory."""

    dtype: str
    shape: tuple[int, ...]
    base: tuple[int, ...] | None  # shape of the array that it is a view of; none: it is of none
    order: Literal["C", "F"] = "C"
    base_order: Literal["C", "F"] = "C"
    is_lent: bool = False  # its memory is a bytearray's
    says_order: bool = (
        False  # its type names the byte order of this host, as `newbyteorder("<")` makes it
    )


def plain(value: Any) -> Plain | None:
    """None: the array can't be made again with all that a program may see of it."""
    if type(value) is not np.ndarray or value.dtype.kind not in _KINDS or not value.size:
        return None
    flags, order = value.flags, _order(value)
    if order is None or not flags.writeable or not value.dtype.isnative:
        return None
    if value.dtype.metadata is not None:  # as of h5py's enumerations
        return None
    says_order = value.dtype.byteorder in "<>"
    found = Plain(value.dtype.str, value.shape, None, order, says_order=says_order)
    if flags.owndata:
        return found
    base: Any = value.base
    if type(base) is bytearray:
        return found._replace(is_lent=True) if _begins_at(value, base) else None
    is_all = (
        type(base) is np.ndarray
        and base.flags.owndata
        and base.flags.writeable
        and base.dtype == value.dtype
        and base.size == value.size
        and base.ctypes.data == value.ctypes.data
    )
    base_order = _order(base) if is_all else None
    return None if base_order is None else found._replace(base=base.shape, base_order=base_order)


def _order(value: Any) -> Literal["C", "F"] | None:
    """None: its steps are not those that NumPy gives a new array of its shape."""
    if value.strides == _steps(value.shape, value.itemsize):
        return "C"
    return "F" if value.strides == _steps(value.shape[::-1], value.itemsize)[::-1] else None


def _steps(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    return (
        tuple(itertools.accumulate(shape[:0:-1], operator.mul, initial=size))[::-1] if shape else ()
    )


def _begins_at(value: Any, memory: bytearray) -> bool:
    """Whether it is all of the memory."""
    own = np.frombuffer(memory, np.uint8)
    return bool(own.nbytes == value.nbytes and own.ctypes.data == value.ctypes.data)


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
    return head, memoryview(_bytes_of(value))


def unpacked(entry: memoryview) -> tuple[Any, Any]:
    """A new array, and what came beside it."""
    form, dtype, more, found = _opened(entry)
    if form.is_lent:
        return np.ndarray(form.shape, dtype, bytearray(found.data), order=form.order), more
    made: Any
    if form.base is None:
        made = np.empty(form.shape, dtype, form.order)
        _bytes_of(made)[:] = found
        return made, more
    made = np.empty(form.base, dtype, form.base_order)
    _bytes_of(made)[:] = found
    flat = made if form.base_order == "C" else made.T
    turned = form.order == "F"
    return flat.reshape(form.shape[::-1]).T if turned else flat.reshape(form.shape), more


def viewed(entry: memoryview) -> Any:
    """The array where it lies, which nobody may write."""
    form, dtype, _, found = _opened(entry)
    return found.view(dtype).reshape(form.shape, order=form.order)


def _opened(entry: memoryview) -> tuple[Plain, Any, Any, Any]:
    """How it lies, its type, what came beside it, and its bytes."""
    size = int.from_bytes(entry[:4], "little")
    dtype, shape, base, *how, more = json.loads(bytes(entry[4 : 4 + size]))
    form = Plain(dtype, tuple(shape), None if base is None else tuple(base), *how)
    begin = (4 + size + _HEAD - 1) // _HEAD * _HEAD
    kind = np.dtype(dtype)
    count = kind.itemsize * math.prod(form.shape)
    kind = kind.newbyteorder(dtype[0]) if form.says_order else kind
    return form, kind, more, np.frombuffer(entry, np.uint8, count, begin)


def _bytes_of(value: Any) -> Any:
    """The memory of a contiguous array, as it lies."""
    return (value if value.flags.c_contiguous else value.T).reshape(-1).view(np.uint8)


class Part(str):
    """What a result depends on that is of a part of a file which the program chooses: it may never come again."""


class _Reading(threading.local):
    now = False  # a library reads for a leaf: what it calls is none of its own


_reading = _Reading()


def is_reading() -> bool:
    """Whether this thread is within a call whose result is a leaf."""
    return _reading.now


@contextmanager
def reading() -> Iterator[None]:
    outer, _reading.now = _reading.now, True
    try:
        yield
    finally:
        _reading.now = outer


class ArrayLeaf:
    """How a function's results are leaves. `form`: what this call's result depends on; None: it is no leaf. It
    may raise."""

    clock = staticmethod(time.thread_time)  # of what the library takes

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
        self.worth, self.parts = Worth(), Parts()

    def prepare(self) -> None:
        """In a process that forks lanes: what they need not look for."""
        self._build()

    def put(self) -> None:
        """In a lane, when the function's place was taken: takes others that it needs."""

    def served(self, wanted: Any, value: Any) -> None:
        """The program gets what was found, and the library has not run."""

    def found(self, entry: memoryview, wanted: Any = None) -> Any:
        """What was kept of a call; the program may write into it."""
        self.worth.note(True)
        if isinstance(wanted, Wanted) and wanted.is_part:
            self.parts.found()
        return self._from(*unpacked(entry))

    def make(
        self, leaves: Leaves, wanted: Any, read: Callable[..., Any], args: Any, named: Any
    ) -> Any:
        """What `read` returns or raises; keeps it, if that is worth it."""
        began, heard = now_ns(), [False]
        with listening(heard) if self._quiet and leaves.may_keep else nullcontext():
            # What it takes to listen is not the library's; what the worker has done in its place is.
            before = self.clock() + ahead_pictures.saved()
            with reading():
                value = read(*args, **named)
            seconds = self.clock() + ahead_pictures.saved() - before
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
        return leaves.is_idle or not self.worth.is_likely(leaves.is_first)

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
            key, is_part = key_of(content, form_of(whole)), type(text) is Part
            if is_part and not self.parts.are_looked_for(key.tag):
                return None
            return Wanted(path, content, key, is_part)
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
        if wanted.is_part and not self.parts.missed(wanted.key.tag, leaves.iteration):
            return
        array, more = self._to(value) or (None, None)
        later = False
        if is_worth := not heard and type(array) is np.ndarray:
            takes = self.worth.undisturbed(seconds, array.nbytes)
            is_worth = leaves.keeps(takes, array.nbytes)
            later = leaf_cost.is_worth(takes, array.nbytes, first=False)
        if not self.worth.note(is_worth, later):
            return
        before = time.thread_time()
        parts = packed(array, more)
        leaves.first_iteration.spend(time.thread_time() - before)
        same = self._is_silent(wanted.path) and self._state(wanted.path) == wanted.content
        if parts is None or not same:
            return
        kept = leaves.offer(wanted.key, wanted.content.ctime_ns, began, parts, seconds)
        if kept and wanted.is_part:
            self.parts.kept(leaves.iteration)


class Wanted(NamedTuple):
    path: Any
    content: Content
    key: Key
    is_part: bool = False


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
