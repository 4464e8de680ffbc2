"""A data set as it is now, against the plan that was made of it: for num_workers=0.

The stock loader then reads the live objects at each batch. So before a batch that the service made is
handed out, everything that the data set's own code would look at for these very samples is compared
with what the plan says: transforms with all that they hold, the entries and array rows of the batch,
their files, and the libraries' functions that all of this stands for.
"""

import operator
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset
from torch.utils.data._utils.collate import default_collate_fn_map

from ..native.plan import Array, Leaf
from .captured import NativePlan
from .items import Items
from .unchanged import Definitions, Unchanged

# A file that was written so shortly before it was looked at may be written again and look the same.
_TICK = 50_000_000  # ns

_LIBRARIES = ("torchvision.transforms", "torchvision.datasets", "torchvision.io", "PIL")
_MODULES = (
    "math", "numpy", "torch", "torch.nn.functional", "torch.nn.modules.module",
    "torch.utils.data._utils.collate",
)  # fmt: skip
_LOOKED_AT = ("transform", "target_transform", "loader", "__getitem__", "__getitems__")

Stamps = list[tuple[int, ...]] | None


class Live:
    """The live objects of one capture, made right after it. Runs no code of the program. One
    thread."""

    def __init__(self, dataset: Any, captured: NativePlan) -> None:
        self._objects = Unchanged()
        self._expected, self._grounds = captured.rows.rows, captured.grounds
        leaves = zip(captured.rows.leaves, captured.rows.datasets, strict=True)
        self._root = _part(dataset, leaves, 0, self._objects, captured.rows.index_types)
        self._directory = os.getcwd()
        self._process = _settings()
        hooks = vars(torch.nn.modules.module)
        for name in [name for name in hooks if name.startswith("_global_")]:
            self._objects.watch(hooks[name])
        self._objects.watch(default_collate_fn_map)
        owners = [
            m for name, m in sys.modules.copy().items() if m is not None and _is_watched(name)
        ]
        classes = [cls for cls in self._objects.classes if cls.__module__ != "builtins"]
        self._definitions = Definitions([*owners, torch.Tensor, *classes])

    def objects_same(self) -> bool:
        """Transforms with the code that they are, loader functions, and which data sets hold
        which."""
        return (
            self._objects.same()
            and self._root.same()
            and all(grounds.same() for grounds in self._grounds)
        )

    def process_same(self) -> bool:
        """The libraries, and settings of the process that samples depend on."""
        return _settings() == self._process and self._definitions.same()

    def rows_same(self, keys: Sequence[int]) -> bool:
        """The data set's entries for these keys, each in [0, count), are the plan's."""
        try:
            rows = self._root.rows(keys)
        except Exception:  # what it raises is the stock way's to raise
            return False
        expected = keys if self._expected is None else self._expected[keys].tolist()
        return rows is not None and rows == expected

    def stamps(self, keys: Sequence[int]) -> Stamps:
        """The stamps of these keys' files: equal while the files are unchanged. None: one of them
        has no stamp."""
        if os.getcwd() != self._directory:
            return None
        try:
            found = [os.stat(path) for path in self._root.paths(keys)]
        except (OSError, LookupError):
            return None
        newest = time.time_ns() - _TICK
        if any(file.st_ctime_ns >= newest for file in found):
            return None
        return [(f.st_dev, f.st_ino, f.st_size, f.st_mtime_ns, f.st_ctime_ns) for f in found]


def _is_watched(name: str) -> bool:
    return name in _MODULES or name.startswith(_LIBRARIES)


def _settings() -> tuple[Any, ...]:
    vision = sys.modules.get("torchvision")
    return (
        torch.get_default_dtype(),
        torch.get_default_device().type,
        torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack(),
        vision.get_image_backend() if vision is not None else None,
        _openers(),
    )


def _openers() -> list[str]:
    """Openers of image formats by others than PIL, which adds its own when it first needs them."""
    image = sys.modules.get("PIL.Image")
    entries = list(image.OPEN.items()) if image is not None else []
    return [name for name, entry in entries if not entry[0].__module__.startswith("PIL.")]


def _part(
    dataset: Any, leaves: Any, offset: int, objects: Unchanged, types: tuple[type, ...] | None
) -> Any:
    """`offset`: rows of the leaves before it. `types`: Rows.index_types."""
    if type(dataset) is Subset:
        return _Subset(dataset, _part(dataset.dataset, leaves, offset, objects, types), types)
    if type(dataset) is ConcatDataset:
        return _Concat(dataset, leaves, offset, objects, types)
    leaf, source = next(leaves)
    objects.watch_attributes(dataset, _LOOKED_AT)
    for cls in type(dataset).__mro__:
        objects.classes[cls] = None
    if isinstance(source, Items):
        return _Own(dataset, leaf, offset, source)
    return (_Folder if not leaf.arrays else _Images)(dataset, leaf, offset)


class _Subset:
    def __init__(self, dataset: "Subset[Any]", inner: Any, types: tuple[type, ...] | None) -> None:
        self._dataset, self._held, self._inner = dataset, dataset.dataset, inner
        self._types = types
        self.count, self.leaf_rows = len(dataset.indices), inner.leaf_rows

    def same(self) -> bool:
        return (
            type(self._dataset) is Subset
            and self._dataset.dataset is self._held
            and self._inner.same()
        )

    def _keys(self, keys: Sequence[int]) -> list[int]:
        indices, count = self._dataset.indices, self._inner.count
        held = [indices[key] for key in keys]
        found = list(map(operator.index, held))
        if self._types is not None and (
            min(found) < 0 or (self._types and not set(map(type, held)) <= set(self._types))
        ):
            raise LookupError("an index that the data set's own code may take otherwise")
        return [key + count if key < 0 else key for key in found]

    def rows(self, keys: Sequence[int]) -> list[int] | None:
        rows: list[int] | None = self._inner.rows(self._keys(keys))
        return rows

    def paths(self, keys: Sequence[int]) -> list[str]:
        paths: list[str] = self._inner.paths(self._keys(keys))
        return paths


class _Concat:
    def __init__(
        self,
        dataset: "ConcatDataset[Any]",
        leaves: Any,
        offset: int,
        objects: Unchanged,
        types: tuple[type, ...] | None,
    ) -> None:
        self._dataset, self._held = dataset, list(dataset.datasets)
        self._ends = list(dataset.cumulative_sizes)
        self._parts: list[Any] = []
        self.count, self.leaf_rows = self._ends[-1], 0
        for part in self._held:
            self._parts.append(_part(part, leaves, offset + self.leaf_rows, objects, types))
            self.leaf_rows += self._parts[-1].leaf_rows

    def same(self) -> bool:
        now = self._dataset
        return (
            type(now) is ConcatDataset
            and len(now.datasets) == len(self._held)
            and all(map(operator.is_, now.datasets, self._held))
            and list(now.cumulative_sizes) == self._ends
            and all(part.same() for part in self._parts)
        )

    def _place(self, key: int) -> tuple[Any, int]:
        for part, end in zip(self._parts, self._ends, strict=True):
            if key < end:
                return part, key - end + part.count
        raise IndexError(key)

    def rows(self, keys: Sequence[int]) -> list[int] | None:
        found: list[int] = []
        for part, key in map(self._place, keys):
            row = part.rows([key])
            if row is None:
                return None
            found += row
        return found

    def paths(self, keys: Sequence[int]) -> list[str]:
        return [path for part, key in map(self._place, keys) for path in part.paths([key])]


class _Leaf:
    def __init__(self, dataset: Any, leaf: Leaf, offset: int) -> None:
        self._dataset, self._type, self._offset = dataset, type(dataset), offset
        self.count = self.leaf_rows = leaf.rows

    def same(self) -> bool:
        return type(self._dataset) is self._type


class _Folder(_Leaf):
    def __init__(self, dataset: Any, leaf: Leaf, offset: int) -> None:
        super().__init__(dataset, leaf, offset)
        self._kept = list(dataset.samples)
        if set(map(type, self._kept)) != {tuple}:
            self._kept = list(map(tuple, self._kept))

    def rows(self, keys: Sequence[int]) -> list[int] | None:
        samples, kept = self._dataset.samples, self._kept
        if any(tuple(samples[key]) != kept[key] for key in keys):
            return None
        return [self._offset + key for key in keys]

    def paths(self, keys: Sequence[int]) -> list[str]:
        return [self._kept[key][0] for key in keys]


class _Own(_Leaf):
    """A data set of the program's own, whose code was followed. What the code is, and what it holds
    beside lists of entries, is among the grounds."""

    def __init__(self, dataset: Any, leaf: Leaf, offset: int, items: Items) -> None:
        super().__init__(dataset, leaf, offset)
        self._items = items

    def rows(self, keys: Sequence[int]) -> list[int] | None:
        return [self._offset + key for key in keys] if self._items.lists.same_at(keys) else None

    def paths(self, keys: Sequence[int]) -> list[str]:
        return [paths[key] for paths in self._items.paths for key in keys]


class _Images(_Leaf):
    """Images in an array, and a label each: CIFAR and MNIST."""

    def __init__(self, dataset: Any, leaf: Leaf, offset: int) -> None:
        super().__init__(dataset, leaf, offset)
        self._data, self._labels = (_content(array, leaf.rows) for array in leaf.arrays)

    def rows(self, keys: Sequence[int]) -> list[int] | None:
        data, labels = self._dataset.data, self._dataset.targets
        at = np.asarray(keys)
        images = np.asarray(data)
        if images.dtype != self._data.dtype or images.shape[1:] != self._data.shape[1:]:
            return None
        if type(labels) is list:
            found = [labels[key] for key in keys]
            if set(map(type, found)) - {int}:
                return None
        else:
            found = [int(label) for label in np.asarray(labels)[at]]
        if found != self._labels[at].tolist():
            return None
        if not np.array_equal(images[at], self._data[at]):
            return None
        return [self._offset + key for key in keys]

    def paths(self, keys: Sequence[int]) -> list[str]:
        return []


def _content(array: Array, rows: int) -> np.ndarray:
    """What the workers were given."""
    flat = np.frombuffer(memoryview(array.blob), dtype=array.dtype)
    return flat.reshape(rows, *array.row_shape)
