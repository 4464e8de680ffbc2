"""tifffile's readers as leaves (functions.py): `imread` of a path, and `asarray` of a TiffFile.

The library tells of damage by its logger, which nobody would hear at a hit: what did so is not kept. Series may be of
several files, as those of OME: what is not all of one file is not kept, either.
"""

import logging
import time
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import tifffile
from tifffile import tifffile as library

from .doors import Entry, Made
from .leaf_arrays import FileLeaf, Wanted
from .leaf_keys import Content, build_of, form_of, key_of, opened_before
from .leaves import Leaves

_FILES = r"imagecodecs|/numpy/|_multiarray|zlib|libz[.-]|_lzma|zstd"
_GLOB = frozenset("*?")  # names of several files
_LOGGER = logging.getLogger("tifffile")
# How series are put together of what is in one file.
_KINDS = frozenset(("generic", "uniform", "shaped", "imagej", "lsm"))
_OBJECTS = frozenset(
    ("parent", "tags", "decode", "pages", "keyframe")
)  # of a page, which are no values


def _of(allowed: type, *values: Any) -> bool:
    return all(value is None or type(value) is allowed for value in values)


def _heard() -> str:
    """What the logger says on, and what nobody hears."""
    return repr((_LOGGER.getEffectiveLevel(), _LOGGER.manager.disable, _LOGGER.disabled))


def _asarray(
    key: Any = None,
    *,
    series: Any = None,
    level: Any = None,
    squeeze: Any = None,
    maxworkers: Any = None,
) -> str | None:
    plain = _of(int, key, series, level, maxworkers) and _of(bool, squeeze)
    return repr((key, series, level, squeeze, _heard())) if plain else None


def _imread(*, key: Any = None, **named: Any) -> str | None:
    return _asarray(key, **named)


class _Listener(logging.Filter):
    """Hears what the logger lets through, and lets it through."""

    heard = False

    def filter(self, record: logging.LogRecord) -> bool:
        self.heard = True
        return True


class _Pictures(FileLeaf):
    clock = staticmethod(time.process_time)  # it decodes in threads of its own

    def make(
        self, leaves: Leaves, wanted: Any, read: Callable[..., Any], args: Any, named: Any
    ) -> Any:
        listener = _Listener()
        _LOGGER.addFilter(listener)
        try:
            return super().make(leaves, wanted, read, args, named)
        finally:
            _LOGGER.removeFilter(listener)

    def _is_silent(self, path: Any) -> bool:
        listeners = [one for one in _LOGGER.filters if type(one) is _Listener]
        return not any(one.heard for one in listeners) and self._is_of_one_file(path)

    def _is_of_one_file(self, path: Any) -> bool:
        with tifffile.TiffFile(path) as file:
            return _is_of_one_file(file)

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Wanted | None:
        if args and type(args[0]) is str and not _GLOB.isdisjoint(args[0]):
            return None
        return super().wanted(args, named)


class _Opened(_Pictures):
    """Of a TiffFile that the program has opened, and one page of it."""

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Wanted | None:
        try:
            file, *rest = args
            text = self._form(*rest, **named)
            content = None if text is None else self._state(file)
            page = None if content is None else _page(file, *rest, **named)
            if content is None or page is None:
                return None
            whole = f"{self.name}\n{text}\n{page}\n{self._build()}"
            return Wanted(file, content, key_of(content, form_of(whole)))
        except Exception:
            return None  # tifffile meets it too, in its own way

    def _state(self, path: Any) -> Content | None:
        """Of a file of which it is all, and that is as it was when the library looked at its pages."""
        handle = path.filehandle
        plain = type(path) is tifffile.TiffFile and type(handle) is tifffile.FileHandle
        if not plain or handle._offset or handle._mode != "rb" or path._root is not path:
            return None
        content = opened_before(handle.fileno())
        is_whole = content is not None and handle._size == content.size
        return content if is_whole else None

    def _is_of_one_file(self, path: Any) -> bool:
        return True  # the page is of this one


def _page(
    file: Any,
    key: Any = None,
    *,
    series: Any = None,
    level: Any = None,
    squeeze: Any = None,
    maxworkers: Any = None,
) -> str | None:
    """All that its pixels depend on, as the library knows it, which the program may have changed. None: it is not the
    first page alone, or not packed. Others are not looked at: the library remembers which pages it has met."""
    if key not in (None, 0):
        return None
    if key is not None and series is None:
        page, shape = file.pages[key], None
    else:
        chosen = file.series[series or 0]
        chosen = chosen if level is None else chosen.levels[level]
        if key is None and (chosen.dataoffset is not None or len(chosen._pages) != 1):
            return None
        page = chosen.pages[0 if key is None else key]
        shape = chosen.get_shape(squeeze=squeeze), chosen.dtype.str
    if type(page) is not tifffile.TiffPage or page.parent is not file or page.compression == 1:
        return None
    held = vars(page).items()
    return repr(
        (shape, sorted((name, repr(value)) for name, value in held if name not in _OBJECTS))
    )


def _is_of_one_file(file: Any) -> bool:
    return all(
        one.kind.lower() in _KINDS and not one.is_multifile and not _others(one, file)
        for one in file.series
    )


def _others(series: Any, file: Any) -> bool:
    return any(page is not None and page.parent is not file for page in series._pages)


def _nothing(*_: Any, **__: Any) -> Made | None:
    return None


def entries() -> Iterator[Entry]:
    name = f"tifffile {tifffile.__version__}"
    whole = f"{name} {np.__version__}"
    read = _Pictures(f"imread {whole}", lambda: build_of(_FILES), _imread)
    yield Entry(library, "imread", FunctionType, name, _nothing, pictures=False, leaf=read)
    opened = _Opened(f"asarray {whole}", lambda: build_of(_FILES), _asarray)
    yield Entry(
        tifffile.TiffFile, "asarray", FunctionType, name, _nothing, pictures=False, leaf=opened
    )
