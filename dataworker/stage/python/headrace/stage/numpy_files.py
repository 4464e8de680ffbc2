"""numpy's readers of text as leaves (functions.py). Files of numbers as they are in memory (np.load, np.fromfile)
are none: to copy them out of the kernel's cache costs what a copy out of ours does."""

import io
import locale
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .functions import Entry, Made
from .leaf_arrays import FileLeaf
from .leaf_keys import build_of

_FILES = r"/numpy/|_multiarray|openblas"
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


def entries() -> Iterator[Entry]:
    for name, form in (("loadtxt", _loadtxt), ("genfromtxt", _genfromtxt)):
        leaf = FileLeaf(f"numpy.{name} {np.__version__}", lambda: build_of(_FILES), form)
        library = f"NumPy {np.__version__}"
        yield Entry(np, name, FunctionType, library, _nothing, pictures=False, leaf=leaf)
