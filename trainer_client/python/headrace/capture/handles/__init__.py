"""Handles of files that travel by how they were opened: path and mode, and what the file is like.

    reduced(obj)    how a bundle has a handle; None: obj is none
    refusal(obj)    why it has not; None: it has, or obj is no handle

A handle travels only if all of its state is known: where the file lies now, that it is the file that was
opened, that nobody here writes to it, and where the handle stands. Anything else is Refused with the
reason. A worker opens its own (stage/handles).
"""

import functools
from typing import Any

import numpy as np

from ...process import own_imports
from . import maps
from .files import Refused

_MOST_KNOWN = 10_000

_kind_of: dict[type, Any] = {}  # of each class that was met; no class is there before its library

__all__ = ["Refused", "reduced", "refusal"]


def reduced(obj: Any) -> tuple[Any, ...] | None:
    """As __reduce__ says it. Runs no code of the program. Raises Refused."""
    kind = _kind(type(obj))
    if kind is None:
        return None
    found: tuple[Any, ...] | None = kind.reduced(obj)
    return found


def is_handle(obj: Any) -> bool:
    """Whether its class is one of handles, or of arrays."""
    return _kind(type(obj)) is not None


@functools.cache
def _kinds() -> tuple[Any, ...]:
    """Its modules. Most programs have no such handle, and are not asked for one."""
    with own_imports.as_they_were():
        from . import arrow, hdf5, lmdb, sqlite, zips

    return maps, zips, hdf5, lmdb, arrow, sqlite


def _kind(cls: type) -> Any:
    if cls not in _kind_of:
        if len(_kind_of) >= _MOST_KNOWN:
            _kind_of.clear()
        bases = set(cls.__mro__)  # issubclass() would ask classes with rules of their own
        _kind_of[cls] = next((k for k in _kinds() if not bases.isdisjoint(k.classes())), None)
    return _kind_of[cls]


def refusal(obj: Any) -> str | None:
    """An array's is that of the memory map that it lies in."""
    try:
        if reduced(obj) is not None and isinstance(obj, np.ndarray):
            reduced(maps.mapping_under(obj))
    except Refused as refused:
        return str(refused)
    return None
