"""nibabel's volumes as leaves (functions.py): arrays that it reads from a file when somebody asks for all of one, as
`get_fdata()` and `np.asarray(image.dataobj)` do. Packed files take most (`.nii.gz`); what a program asks for of
others costs about what a copy does, and is not kept, by its cost.
"""

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import nibabel
import numpy as np
from nibabel.arrayproxy import ArrayProxy

from .doors import Entry, Made
from .leaf_arrays import FileLeaf, Wanted
from .leaf_keys import build_of, content_at, form_of, key_of

_FILES = r"/numpy/|_multiarray|zlib|libz[.-]|_bz2|zstd|indexed_gzip"
# All that a proxy holds beside its lock: what it was told of the file's head.
_HOLDS = frozenset(("file_like", "_shape", "_dtype", "_offset", "_slope", "_inter", "_mmap", "order",
                    "_keep_file_open", "_persist_opener", "_lock"))  # fmt: skip


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


class _Volumes(FileLeaf):
    def __init__(self) -> None:
        name = f"nibabel {nibabel.__version__} {np.__version__}"
        super().__init__(name, lambda: build_of(_FILES), lambda: None)

    def wanted(self, args: tuple[Any, ...], named: dict[str, Any]) -> Wanted | None:
        try:
            proxy, dtype = args[0], self._type(args[1:], named)
            held = vars(proxy)
            if type(proxy) is not ArrayProxy or held.keys() != _HOLDS:
                return None
            path, opened = held["file_like"], held["_keep_file_open"] or held["_persist_opener"]
            scales = held["_slope"], held["_inter"]
            if type(path) is not str or opened or not all(map(_number, scales)):
                return None
            content = content_at(path)
            if content is None:
                return None
            what = held["_shape"], held["_dtype"].str, int(held["_offset"]), held["order"]
            factors = [(np.asarray(one).dtype.str, float(one).hex()) for one in scales]
            ending = path.rpartition(".")[2]  # tells how it is packed
            text = repr((*what, held["_mmap"], factors, dtype, ending))
            whole = f"{self.name}\n{text}\n{self._build()}"
            return Wanted(path, content, key_of(content, form_of(whole)))
        except Exception:
            return None  # nibabel meets it too, in its own way

    def _type(self, rest: tuple[Any, ...], named: dict[str, Any]) -> str:
        """Of the array that is asked for. Raises TypeError: there is no telling."""
        (dtype,) = (*rest, *(named[name] for name in named if name == "dtype")) or (None,)
        if len(named) > 1 or (named and "dtype" not in named):
            raise TypeError
        return "" if dtype is None else np.dtype(dtype).str


def _nothing(*_: Any, **__: Any) -> Made | None:
    return None


def entries() -> Iterator[Entry]:
    library = f"nibabel {nibabel.__version__}"
    leaf = _Volumes()
    yield Entry(ArrayProxy, "__array__", FunctionType, library, _nothing, pictures=False, leaf=leaf)
