"""Rows and frames of pandas that are asked for several labels: row[["price", "load"]], frame[names], loc[names].

pandas makes an index of the labels, and looks each of them up, for each row again: three quarters of the call. Where
the labels are is kept beside the lookup table that pandas keeps itself: in the index's own cache, which all rows of a
frame share. All else, with the new index of each result, is made by pandas.

Why so: docs/adr/0111-rows-of-tables-and-normal-numbers.md.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd

from .doors import Entry, Made

_MOST_LABELS = 64  # of a call
_MOST_CALLS = 16  # with different labels, that an index keeps
_KEPT = "headrace_places"  # no name of pandas' own

_STRICT = (
    "_get_indexer_strict"  # of Index: where labels are, or an error that names what is missing
)


class _Places:
    def __init__(self, strict: Callable[..., Any]) -> None:
        self._strict = strict

    def find(self, index: Any, key: Any, _axis: Any = None) -> Made | None:
        """What the index's own method gives: the labels as an index, and their places."""
        labels = tuple(key)
        kept = index._cache.get(_KEPT)
        if kept is not None and (places := kept.get(labels)) is not None:
            places = places.copy()  # nobody else has it
            return Made(None, (index.take(places), places))
        if kept is None:
            kept = index._cache[_KEPT] = {}
        if len(kept) >= _MOST_CALLS or not index._index_as_unique:
            return None
        made = self._strict(index, key, _axis)
        places = made[1]
        if type(places) is np.ndarray and places.dtype == np.intp and len(places) == len(labels):
            kept[labels] = places.copy()
        return Made(None, made)


def _takes(index: Any, key: Any = None, axis_name: Any = None, *more: Any) -> bool | None:
    """Labels that are equal only where they are the same: 1 and True are not."""
    if more or type(index) is not pd.Index or type(key) is not list:
        return None
    if not 0 < len(key) <= _MOST_LABELS:
        return None
    for label in key:
        if type(label) is not str:
            return None
    return True


def _seen(found: Any) -> Any:
    index, places = found
    about = type(index), index.dtype, index.name, list(index), type(index._data)
    return (*about, places.dtype, places.shape, places.strides, places.tobytes())


def _alike(places: _Places, strict: Callable[..., Any]) -> bool:
    """On indexes of our own, whose cache nothing else looks at."""
    names = ["price", "load", "", "städte", "wind", "Price"]
    for index in (pd.Index(names, name="of"), pd.Index([*names, 3, None], dtype=object)):
        for labels in (["wind", "price"], names, ["", ""], ["load"]):
            for _ in range(2):
                made = places.find(index, labels, "index")
                if made is None or _seen(made.value) != _seen(strict(index, labels, "index")):
                    return False
    return True


def entries() -> Iterator[Entry]:
    strict = getattr(pd.Index, _STRICT, None)
    if strict is None or not hasattr(pd.Index, "_index_as_unique"):
        return
    places = _Places(strict)
    yield Entry(
        *(pd.Index, _STRICT, FunctionType, f"pandas {pd.__version__}", places.find),
        pictures=False,
        rests=True,
        alike=lambda: _alike(places, strict),
        takes=_takes,
    )
