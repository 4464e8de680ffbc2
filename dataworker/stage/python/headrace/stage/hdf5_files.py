"""h5py's data sets as leaves (functions.py): those in chunks that a filter packs. Others cost no more to read than to
copy.

A data set is named by its file's state and its place there. Leading whole numbers of a selection choose what is
kept: `images[i]` keeps a row, `volume[:]` and `volume[a:b, c:d]` the volume. Parts of what is kept are cut out of
it. So a crop that is drawn anew each time is found, too. A library's view of a file that it has opened may be older
than the file's state. So only files count that have not changed since the program began.
"""

import itertools
import math
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import h5py
import numpy as np
from h5py import h5d, h5f, h5fd, h5i, h5o, h5z

from ..native.genuine import is_genuine
from . import leaf_cost
from .doors import Entry, Made
from .leaf_arrays import FileLeaf, viewed
from .leaf_keys import Content, Key, build_of, form_of, key_of, opened_before
from .leaves import Leaves

_FILES = r"h5py|hdf5|libz[.-]|zlib|libaec|libsz|/numpy/|_multiarray"
# Those that come with HDF5 and h5py, whose code _FILES tells apart.
_FILTERS = frozenset((h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32, h5z.FILTER_SZIP,
                      h5z.FILTER_NBIT, h5z.FILTER_SCALEOFFSET, h5z.FILTER_LZF))  # fmt: skip
_NUMBERS = (int, np.int64, np.int32)
_MOST = 64 << 20  # bytes of what is kept for its parts
# Parts are worth the reading of all when they have unpacked this share of its chunks in one lane.
_SHARE = 0.5
_PATIENCE = 10
_LAST, _MANY = 16, 4096  # data sets that are known, and of which parts are counted


class _Packed(NamedTuple):
    """A data set whose results may be kept."""

    fd: int
    place: int
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: Any


class _Cut(NamedTuple):
    """A selection: `leading` numbers, and of what is there all, or a part."""

    leading: tuple[int, ...]
    part: tuple[Any, ...] | None


class _Wanted(NamedTuple):
    path: Any  # the data set
    content: Content
    key: Key
    cut: _Cut
    as_it_is: bool  # in the data set's own type
    chunks: int  # bytes of the chunks that the selection touches
    all_chunks: int  # and of all that is kept
    is_part: bool = False  # parts are cut out of what is kept


def _is_plain(dtype: Any) -> bool:
    return dtype.kind in "biufc" and dtype.metadata is None and dtype.isnative


def _looked_at(dataset: Any) -> _Packed | None:
    did = dataset.id
    settings = did.get_create_plist()
    if settings.get_layout() != h5d.CHUNKED or not settings.get_nfilters():
        return None
    if not {settings.get_filter(n)[0] for n in range(settings.get_nfilters())} <= _FILTERS:
        return None
    file = h5i.get_file_id(did)
    # Neither written by this process nor by another one meanwhile (SWMR).
    if file.get_intent() != h5f.ACC_RDONLY or file.get_access_plist().get_driver() != h5fd.SEC2:
        return None
    if not _is_plain(did.dtype):
        return None
    place = h5o.get_info(did).addr
    return _Packed(file.get_vfd_handle(), place, did.shape, settings.get_chunk(), did.dtype)


def _whole(value: Any, count: int) -> int | None:
    if type(value) not in _NUMBERS or not -count <= value < count:
        return None
    return int(value) % count


def _slice(value: slice, count: int) -> slice | None:
    if any(
        one is not None and type(one) not in _NUMBERS
        for one in (value.start, value.stop, value.step)
    ):
        return None
    start, stop, step = value.indices(count)
    return slice(start, stop, step) if step > 0 and start < stop else None


def _cut(what: Any, shape: tuple[int, ...]) -> _Cut | None:
    """None: it is none of whole numbers and slices, or empty, or of one element, or there is no such part."""
    what = what if type(what) is tuple else (what,)
    gaps = [at for at, one in enumerate(what) if one is Ellipsis]
    fill = len(shape) - len(what) + len(gaps)
    if len(gaps) > 1 or fill < 0:
        return None
    at = gaps[0] if gaps else len(what)
    full = (*what[:at], *(slice(None),) * fill, *what[at + len(gaps) :])
    chosen: list[Any] = []
    for one, count in zip(full, shape, strict=True):
        found = _slice(one, count) if type(one) is slice else _whole(one, count)
        if found is None:
            return None
        chosen.append(found)
    leading = tuple(itertools.takewhile(lambda one: type(one) is int, chosen))
    part = tuple(chosen[len(leading) :])
    if not part:
        return None
    is_all = all(
        one == slice(0, count, 1) for one, count in zip(part, shape[len(leading) :], strict=True)
    )
    return _Cut(leading, None if is_all else part)


def _chunk_bytes(found: _Packed, leading: int, part: tuple[Any, ...]) -> int:
    """Of the chunks that a part touches, as far as they belong to what is kept."""
    size = int(found.dtype.itemsize)
    axes = zip(part, found.shape[leading:], found.chunks[leading:], strict=True)
    for one, count, chunk in axes:
        first, last = (one, one) if type(one) is int else (one.start, one.stop - 1)
        size *= min((last // chunk - first // chunk + 1) * chunk, count)
    return size


def _type_of(found: _Packed, named: dict[str, Any]) -> Any:
    """Of the result: another one than the data set's is asked for by `astype`. None: there is no telling."""
    if not named:
        return found.dtype
    dtype = named.get("new_dtype")
    plain = len(named) == 1 and isinstance(dtype, np.dtype) and _is_plain(dtype)
    return dtype if plain else None


class _DataSets(FileLeaf):
    """Not thread-safe, but for what it costs."""

    def __init__(self) -> None:
        version = f"h5py {h5py.__version__} {h5py.version.hdf5_version}"
        super().__init__(version, lambda: build_of(_FILES), lambda: None)
        self._known: dict[int, tuple[Any, _Packed | None]] = {}
        self._unpacked: dict[Key, int] = {}  # by key, bytes of chunks

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        try:
            dataset, what = args
            if type(dataset) is not h5py.Dataset or not dataset.id.valid:
                return None
            found = self._packed(dataset)
            return None if found is None else self._named(dataset, found, what, named)
        except Exception:
            return None  # h5py meets it too, in its own way

    def _named(self, dataset: Any, found: _Packed, what: Any, named: dict[str, Any]) -> Any:
        cut, dtype = _cut(what, found.shape), _type_of(found, named)
        if cut is None or dtype is None:
            return None
        leading = len(cut.leading)
        shape = found.shape[leading:]
        if cut.part is not None and dtype.itemsize * math.prod(shape) > _MOST:
            return None
        content = self._state(dataset)
        if content is None:
            return None
        form = found.place, found.shape, cut.leading, found.dtype.str, dtype.str
        key = key_of(content, form_of(f"{self.name}\n{form}\n{self._build()}"))
        chunks = _chunk_bytes(found, leading, cut.part) if cut.part else 0
        all_chunks = found.dtype.itemsize * math.prod(shape)
        return _Wanted(dataset, content, key, cut, not named, chunks, all_chunks)

    def found(self, entry: memoryview, wanted: Any = None) -> Any:
        if wanted is None:
            return super().found(entry)
        if wanted.as_it_is and wanted.path._fast_read_ok:
            _ = wanted.path._fast_reader  # made by the first read, as errors of a closed file tell
        if wanted.cut.part is None:
            return super().found(entry)
        self.worth.note(True)
        return viewed(entry)[wanted.cut.part].copy()

    def make(
        self, leaves: Leaves, wanted: Any, read: Callable[..., Any], args: Any, named: Any
    ) -> Any:
        if wanted.cut.part is None:
            return super().make(leaves, wanted, read, args, named)
        began = time.thread_time()
        value = read(*args, **named)
        if not leaf_cost.is_worth(time.thread_time() - began, 0, first=False):
            self.worth.note(False)
        elif leaves.wants_whole:
            self._keep_all(leaves, wanted, read, named)
        return value

    def _keep_all(
        self, leaves: Leaves, wanted: Any, read: Callable[..., Any], named: dict[str, Any]
    ) -> None:
        """All that the part is of, once parts of it have cost about as much."""
        if len(self._unpacked) > _MANY:
            self._unpacked.clear()
        done = self._unpacked.get(wanted.key, 0) + wanted.chunks
        is_time = done >= _SHARE * wanted.all_chunks
        # Where it is not worth its keeping, it is not read again soon.
        self._unpacked[wanted.key] = -_PATIENCE * wanted.all_chunks if is_time else done
        if is_time:
            args, before = (wanted.path, (*wanted.cut.leading, Ellipsis)), time.thread_time()
            with suppress(Exception):  # of a chunk that the program has not asked for
                super().make(leaves, wanted, read, args, named)
            leaves.first_iteration.spend(time.thread_time() - before)

    def _packed(self, dataset: Any) -> _Packed | None:
        """What does not change while the data set is open."""
        known = self._known.get(id(dataset))
        if known is not None and known[0]() is dataset:
            return known[1]
        if len(self._known) >= _LAST:
            self._known.clear()
        found = _looked_at(dataset)
        self._known[id(dataset)] = weakref.ref(dataset), found
        return found

    def _state(self, path: Any) -> Content | None:
        found = self._packed(path)
        return None if found is None else opened_before(found.fd)


def _nothing(*_: Any, **__: Any) -> Made | None:
    """There is no other native form of them."""
    return None


def entries() -> Iterator[Entry]:
    read: Any = h5py.Dataset.__getitem__  # a function of Cython, around one of Python
    if not is_genuine(getattr(read, "__wrapped__", None), "h5py"):
        return
    library = f"h5py {h5py.__version__}"
    leaf = _DataSets()
    yield Entry(
        h5py.Dataset, "__getitem__", type(read), library, _nothing, pictures=False, leaf=leaf
    )
