"""numpy's readers of text, and of packed arrays, as leaves (functions.py). Files of numbers as they are in memory
(np.load, np.fromfile) are none: to copy them out of the kernel's cache costs what a copy out of ours does."""

import io
import locale
import os
import re
import zipfile
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

from .doors import Entry, Made
from .leaf_arrays import FileLeaf, Wanted
from .leaf_keys import Content, build_of, content_of, form_of, key_of

_FILES = r"/numpy/|_multiarray|openblas"
# A whole number as Python 2 writes it; bytes of an array's head.
_LONG, _HEAD = re.compile(rb"\dL"), 1 << 10
# Floats alone: a text that is read as integers may come with a warning of its own.
_TYPES = (float, np.float64, np.float32, np.longdouble)


def _is_float(dtype: Any) -> bool:
    return dtype in _TYPES if isinstance(dtype, type) else dtype in ("float", "float32", "float64")


def _of(allowed: tuple[type, ...], *values: Any) -> bool:
    return all(value is None or type(value) in allowed for value in values)


def _columns(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(type(one) is int for one in value)
    return value is None or type(value) is int


def _text(dtype: Any, *settings: Any) -> str | None:
    # Whoever replaces open() wants to be asked.
    if not _is_float(dtype) or type(io.open) is not BuiltinFunctionType:
        return None
    return repr((np.dtype(dtype).str, locale.getpreferredencoding(False), *settings))


def _loadtxt(
    dtype: Any = float,
    comments: Any = "#",
    delimiter: Any = None,
    converters: Any = None,
    skiprows: Any = 0,
    usecols: Any = None,
    unpack: Any = False,
    ndmin: Any = 0,
    encoding: Any = None,
    max_rows: Any = None,
    *,
    quotechar: Any = None,
) -> str | None:
    plain = (
        _of((str,), comments, delimiter, encoding, quotechar)
        and _of((int,), skiprows, ndmin, max_rows)
        and _columns(usecols)
        and converters is None
        and unpack is False
    )
    settings = comments, delimiter, skiprows, usecols, ndmin, encoding, max_rows, quotechar
    return _text(dtype, *settings) if plain else None


def _genfromtxt(
    dtype: Any = float,
    comments: Any = "#",
    delimiter: Any = None,
    skip_header: Any = 0,
    skip_footer: Any = 0,
    *,
    usecols: Any = None,
    encoding: Any = None,
) -> str | None:
    plain = (
        _of((str,), comments, delimiter, encoding)
        and _of((int,), skip_header, skip_footer)
        and _columns(usecols)
    )
    settings = comments, delimiter, skip_header, skip_footer, usecols, encoding
    return _text(dtype, *settings) if plain else None


def _nothing(*_: Any, **__: Any) -> Made | None:
    """There is no other native form of them."""
    return None


class _Members(FileLeaf):
    """Of packed arrays in an archive of np.load's, by the archive's state and what its directory says of them."""

    def __init__(self) -> None:
        super().__init__(f"npz {np.__version__}", lambda: build_of(_FILES), lambda: None)

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Wanted | None:
        try:
            archive, name = args
            content = self._state(args)
            if type(name) is not str or content is None or named:
                return None
            info = archive.zip.getinfo(archive._files[name])
            if info.compress_type == zipfile.ZIP_STORED:
                return None
            what = info.filename, info.header_offset, info.CRC, info.compress_size, info.file_size
            how = info.compress_type, info.flag_bits, archive.allow_pickle, archive.max_header_size
            whole = f"{self.name}\n{(*what, *how)}\n{build_of(_FILES)}"
            return Wanted(args, content, key_of(content, form_of(whole)))
        except Exception:
            return None  # NumPy meets it too, in its own way

    def _state(self, path: Any) -> Content | None:
        """`path`: the archive, and a name. None: the program may see where reading leaves the file."""
        archive, _ = path
        if type(archive) is not NpzFile or type(archive.zip) is not zipfile.ZipFile:
            return None
        file: Any = archive.zip.fp
        is_numpys = type(file) is io.BufferedReader and file is archive.fid
        return content_of(os.fstat(file.fileno())) if is_numpys else None

    def _is_silent(self, path: Any) -> bool:
        """NumPy warns of what Python 2 has written, each time."""
        archive, name = path
        with archive.zip.open(archive._files[name]) as member:
            return _LONG.search(member.read(_HEAD)) is None


def entries() -> Iterator[Entry]:
    for name, form in (("loadtxt", _loadtxt), ("genfromtxt", _genfromtxt)):
        leaf = FileLeaf(f"numpy.{name} {np.__version__}", lambda: build_of(_FILES), form)
        library = f"NumPy {np.__version__}"
        yield Entry(np, name, FunctionType, library, _nothing, pictures=False, leaf=leaf)
    members = _Members()
    yield Entry(
        NpzFile, "__getitem__", FunctionType, "NumPy", _nothing, pictures=False, leaf=members
    )
