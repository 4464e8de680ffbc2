"""The content of values, for content.py: numbers, text, arrays, tensors, pictures, names of libraries."""

import enum
import functools
import hashlib
import os
import struct
import sys
import types
from collections.abc import Callable
from pathlib import PosixPath
from typing import Any

import numpy as np

from ..declared import ORIGINAL as ORIGINAL
from ..process.modules import namespace
from .content_memo import Memo
from .leaf_memory import memory_at as memory_at

_MOST_PATHS = 64
_SHORT = 64  # characters
_MOST_BYTES = 256 << 20  # of an array
# Libraries that map files into memory: neither Python nor the kernel's counts tell of it (witness.py).
_MAPPERS = ("torchvision.io", "safetensors", "pyarrow")


class NotHashed(Exception):
    """Says why the content of something can't be told."""


class Refused(NotHashed):
    """The same, of code: no call of it can be told."""


class TooMuch(NotHashed):
    """It has more parts than anybody looks at."""


class NotYet(NotHashed):
    """A later call may be told."""


class Values:
    """A hash that values are added to. One thread."""

    def __init__(self, memo: Memo | None = None) -> None:
        """`memo`: of values that last; None: all are hashed."""
        self._hash = hashlib.blake2b(digest_size=32)
        self.data: Any = self._hash.update
        self._seen: dict[int, int] = {}
        self._held: list[Any] = []  # so that no id() is given twice
        self._memo = memo
        self._lasting = False
        self._depth = 0
        self.paths: dict[str, None] = {}  # texts that may name a file
        self.memory: list[tuple[int, int]] = []  # of arrays: begin and end
        self.maps = ""  # a function that it may call, which reads files without a sign

    def digest(self) -> bytes:
        """32 bytes."""
        return self._hash.digest()

    def value(self, value: Any, what: str = "") -> None:
        raise NotImplementedError

    def path(self, value: Any) -> None:
        """Notes a text that may name a file."""
        if type(value) is PosixPath or (type(value) is str and os.sep in value):
            if len(self.paths) < _MOST_PATHS:
                self.paths[os.path.abspath(value)] = None

    def library(self, tag: bytes, module: str, name: str) -> None:
        """A function or class of a library, by its name."""
        self.data(_library_bytes(tag, module, name))
        if (module or "").startswith(_MAPPERS):
            self.maps = f"{module}.{name}"

    def _note(self, tag: bytes, *numbers: int) -> None:
        self.data(tag + b"%d:" % len(numbers) + struct.pack(f"<{len(numbers)}q", *numbers))

    def text(self, tag: bytes, text: str) -> None:
        if len(text) < _SHORT:
            self.data(_text_bytes(tag, text))
            return
        data = text.encode("utf-8", "surrogatepass")
        self._note(tag, len(data))
        self.data(data)

    # Objects.

    def _of_library(self, value: Any, kind: type, what: str) -> bool:
        """Whether it is of a kind that has a content."""
        if kind is np.ndarray:
            self._array(value, what)
        elif issubclass(kind, np.generic):
            self.text(b"scalar", value.dtype.str)
            self.data(value.tobytes())
        elif isinstance(value, np.dtype):
            self.text(b"dtype", repr(value))
        elif isinstance(value, enum.Enum):
            self.text(b"member", f"{version_of(kind.__module__)} {kind.__qualname__} {value.name}")
            self.value(value._value_, what)
        elif kind is PosixPath:
            self.text(b"path", str(value))
        elif kind in (slice, range):
            for part in (value.start, value.stop, value.step):
                self.value(part, what)
        else:
            torch, image = sys.modules.get("torch"), sys.modules.get("PIL.Image")
            if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
                self._tensor(value, torch, what)
            elif torch is not None and kind in (
                torch.dtype,
                torch.device,
                torch.layout,
                torch.Size,
            ):
                self.text(b"torch", repr(value))
            elif image is not None and isinstance(value, image.Image):
                self._picture(value, image, what)
            else:
                return False
        return True

    def _array(self, value: Any, what: str) -> None:
        if value.dtype.hasobject:
            raise NotHashed(f"{what} is an array of objects")
        self.text(b"array", value.dtype.str if value.dtype.fields is None else repr(value.dtype))
        self._note(b"shape", *value.shape, *value.strides, value.flags.writeable)
        begin, end = _bounds(value)
        self.memory.append((begin, end))
        if value.nbytes > _MOST_BYTES:
            raise NotHashed(
                f"{what}, of {value.nbytes >> 20} MiB, is too large to look at each time"
            )
        self._bytes(np.ascontiguousarray(value).reshape(-1).view(np.uint8))

    def _bytes(self, flat: Any) -> None:
        """`flat`: uint8."""
        known = self._memo.array(flat) if self._memo and self._lasting else None
        self.data(known if known is not None else memoryview(flat))

    def _tensor(self, value: Any, torch: Any, what: str) -> None:
        plain = value.device.type == "cpu" and value.layout == torch.strided
        if (
            not plain
            or value.grad_fn is not None
            or value.is_conj()
            or value.is_neg()
            or vars(value)
        ):
            raise NotHashed(f"{what} is a tensor with more than its elements")
        self.text(b"tensor", f"{value.dtype} {value.requires_grad} {value.is_inference()}")
        self._note(b"shape", *value.shape, *value.stride())
        begin = value.data_ptr()
        if value.numel() * value.element_size() > _MOST_BYTES:
            raise NotHashed(f"{what} is too large to look at each time")
        extent = sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True))
        self.memory.append((begin, begin + (extent + 1) * value.element_size()))
        with torch.no_grad():
            plain = value.detach().contiguous()
        self._bytes(memory_at(plain.data_ptr(), plain.numel() * plain.element_size()))

    def _picture(self, value: Any, image: Any, what: str) -> None:
        if type(value) is not image.Image:
            if "_picture" in vars(value):
                value.load()  # it was not made yet (deferred.py), and becomes plain
            if type(value) is not image.Image:
                raise NotHashed(f"{what} is a picture of an open file")
        self.text(b"picture", f"{value.mode} {value.size}")
        self.data(value.tobytes())
        palette = value.getpalette() if value.mode == "P" else None
        self.value(palette, what)
        self.value(value.info, f"{what}.info")


@functools.lru_cache(maxsize=4096)
def _text_bytes(tag: bytes, text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return tag + b"1:" + struct.pack("<q", len(data)) + data


@functools.lru_cache(maxsize=4096)
def _library_bytes(tag: bytes, module: str, name: str) -> bytes:
    return _text_bytes(tag, f"{version_of(module)} {name}")


_numpy: Any = np
_bounds = getattr(_numpy.lib, "array_utils", _numpy).byte_bounds  # its place before NumPy 2


@functools.lru_cache(maxsize=1024)
def code_digest(code: types.CodeType) -> bytes:
    """Of instructions and constants; lines and names of files do not count."""
    hashed = hashlib.blake2b(digest_size=32)

    def add(data: bytes) -> None:
        hashed.update(struct.pack("<q", len(data)) + data)

    def add_constant(constant: Any) -> None:
        if isinstance(constant, types.CodeType):
            add(code_digest(constant))
        elif type(constant) in (tuple, frozenset):
            add(type(constant).__name__.encode() + b"%d" % len(constant))
            for item in constant:
                add_constant(item)
        elif type(constant) is float:
            add(b"float" + struct.pack("<d", constant))
        elif type(constant) is complex:
            add(b"complex" + struct.pack("<2d", constant.real, constant.imag))
        else:
            add(f"{type(constant).__name__} {constant!r}".encode("utf-8", "backslashreplace"))

    add(sys.implementation.cache_tag.encode() if sys.implementation.cache_tag else b"")
    add(code.co_code)
    add(getattr(code, "co_exceptiontable", b""))
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    add(
        repr((counts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)).encode()
    )
    for constant in code.co_consts:
        add_constant(constant)
    return hashed.digest()


@functools.cache
def version_of(module: str | None) -> str:
    """A module's name, with what tells builds of its package apart."""
    name = module or ""
    words = [name]
    for each in dict.fromkeys((name.partition(".")[0], name)):
        held = namespace(sys.modules.get(each))
        version, file = held.get("__version__"), held.get("__file__")
        words.append(str(version))
        if isinstance(file, str):
            try:
                state = os.stat(file)
                words.append(f"{state.st_size} {state.st_mtime_ns} {state.st_ino}")
            except OSError:
                words.append(file)
    return " ".join(words)


def _none(content: Values, value: Any) -> None:
    content._note(b"none" if value is None else b"ellipsis")


def _whole(content: Values, value: Any) -> None:
    content.data(_whole_bytes(value))


@functools.lru_cache(maxsize=4096, typed=True)
def _whole_bytes(value: int) -> bytes:
    return _text_bytes(b"bool" if type(value) is bool else b"int", str(int(value)))


def _number(content: Values, value: Any) -> None:
    content._note(b"float" if type(value) is float else b"complex")
    number = complex(value)
    content.data(struct.pack("<2d", number.real, number.imag) if type(value) is complex
                 else struct.pack("<d", value))  # fmt: skip


def _string(content: Values, value: Any) -> None:
    if len(value) < _SHORT:
        content.data(_text_bytes(b"str", value))
    else:
        content.text(b"str", value)


def _raw(content: Values, value: Any) -> None:
    content._note(b"bytes" if type(value) is bytes else b"bytearray", len(value))
    content.data(value)


ADD: dict[type, Callable[[Values, Any], None]] = {
    type(None): _none, type(Ellipsis): _none, bool: _whole, int: _whole, float: _number,
    complex: _number, str: _string, bytes: _raw,
}  # fmt: skip
