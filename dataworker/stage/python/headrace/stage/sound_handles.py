"""Reads of sound files that a program has opened, as leaves (functions.py): `soundfile.SoundFile(...).read()`.

A file is named by its state, which was the same at its path before it was opened, then, and now. A read that was found
has moved nothing in the library, whose decoder may remember where it was. So it is made up for before anything else is
asked of the file, and never where the file is only closed.

What a decoder remembers may change the samples that it makes: of MP3 and Vorbis, a read after a read differs from one
after a seek. Only samples that are decoded alone are named by where they are. Of other formats the first read is
named, before which nothing was asked of the file.
"""

import functools
import weakref
from collections.abc import Callable
from pathlib import PosixPath
from typing import Any, NamedTuple

from soundfile import SoundFile

from ..native.genuine import is_genuine
from .leaf_arrays import FileLeaf, Part, Wanted
from .leaf_keys import Content, content_at, form_of, key_of

_LATER = "_file_later"
# Formats of libsndfile's whose samples are the same from wherever the file was read before.
_PACKED_ALONE = frozenset(("FLAC",))
_PLAIN = frozenset(("WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF"))
_PLAIN_SAMPLES = frozenset(("PCM_S8", "PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"))


class _Opened(NamedTuple):
    path: Any
    content: Content
    is_alone: bool  # its samples don't depend on what was read before


_opened: weakref.WeakKeyDictionary[Any, _Opened] = weakref.WeakKeyDictionary()


class _Later(NamedTuple):
    """Of a file of which nothing was asked since: its handle, reads that are to be made up for, and where it is after
    them."""

    handle: Any
    reads: list[tuple[Any, Any]]  # without the file, which would hold itself
    position: int


class _Handle:
    """In the place of the class's `_file`, which a file's own one hides."""

    def __init__(self, read: Callable[..., Any]) -> None:
        self._read = read

    def __get__(self, file: Any, owner: Any = None) -> Any:
        later = None if file is None else vars(file).pop(_LATER, None)
        if later is None:
            return None
        vars(file)["_file"] = later.handle
        for args, named in later.reads:
            self._read(file, *args, **named)
        return later.handle


class Reads(FileLeaf):
    """`form`: of frames, type and axes."""

    _on = False

    def put(self) -> None:
        """Once in a lane."""
        opens, closes = SoundFile.__init__, SoundFile.close
        own = [SoundFile.read, opens, closes, SoundFile.tell, SoundFile.seekable]
        plain = vars(SoundFile).get("_file", 0) is None
        if not plain or not all(is_genuine(one, "soundfile") for one in own[1:]):
            return
        real: Any = getattr(SoundFile.read, "__wrapped__", SoundFile.read)
        changed: Any = SoundFile
        changed._file = _Handle(real)
        changed.__init__, changed.close = _opening(opens), _closing(closes)
        self._on = True

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Wanted | None:
        try:
            file, *rest = args
            if not self._on or type(file) is not SoundFile:
                return None
            text, opened = self._form(*rest, **named), _opened.get(file)
            if text is None or opened is None or self._state(file) != opened.content:
                return None
            later = vars(file).get(_LATER)
            if not opened.is_alone and (later is None or later.reads):
                return None
            position = file.tell() if later is None else later.position
            whole = f"{self.name}\n{position}\n{text}\n{self._build()}"
            key = key_of(opened.content, form_of(whole))
            is_part = position > 0 or type(text) is Part
            if is_part and not self.parts.are_looked_for(key.tag):
                return None
            return Wanted((file, position, rest, named), opened.content, key, is_part)
        except Exception:
            return None  # soundfile meets it too, in its own way

    def _state(self, path: Any) -> Content | None:
        """`path`: the file, with or without what was asked of it."""
        file = path[0] if type(path) is tuple else path
        return content_at(_opened[file].path) if file in _opened else None

    def served(self, wanted: Any, value: Any) -> None:
        file, position, args, named = wanted.path
        later = vars(file).pop(_LATER, None) or _Later(vars(file).pop("_file"), [], 0)
        reads = [*later.reads, (args, named)]
        vars(file)[_LATER] = _Later(later.handle, reads, position + len(value))


def _opening(real: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(real)
    def __init__(self: Any, *args: Any, **named: Any) -> None:
        path = args[0] if args else named.get("file")
        plain = type(self) is SoundFile and type(path) in (str, PosixPath)
        before = content_at(path) if plain and _is_read(*args, **named) else None
        real(self, *args, **named)
        if before is not None and before == content_at(path):
            is_alone = _is_alone(self)
            _opened[self] = _Opened(path, before, is_alone)
            if not is_alone:  # what is asked of it comes by _Handle
                vars(self)[_LATER] = _Later(vars(self).pop("_file"), [], 0)

    return __init__


def _is_read(file: Any, mode: Any = "r", *rest: Any, **named: Any) -> bool:
    """Whether it is opened as the file says, to be read."""
    told = (*rest, *named.values())
    return mode == "r" and all(one is None or one is True for one in told)


def _is_alone(file: Any) -> bool:
    plain = file.format in _PLAIN and file.subtype in _PLAIN_SAMPLES
    return plain or file.format in _PACKED_ALONE


def _closing(real: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(real)
    def close(self: Any) -> None:
        later = vars(self).pop(_LATER, None)
        if later is not None:
            vars(self)["_file"] = later.handle
        real(self)

    return close


def form(frames: Any = -1, dtype: Any = "float64", always_2d: Any = False) -> str | None:
    plain = type(frames) is int and type(dtype) is str and type(always_2d) is bool
    if not plain:
        return None
    text = repr((frames, dtype, always_2d))
    return text if frames == -1 else Part(text)
