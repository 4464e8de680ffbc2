"""torchvision's and torch's datasets as leaves, row numbers and fields."""

import operator
import os
import sys
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset, TensorDataset

from ..native import binding
from ..native.collate import name_of
from ..native.joint import INDEX
from ..native.opencv import Call
from ..native.plan import SOURCE, Field, Leaf, Node, NotNative
from ..native.structure import Structure
from ..records import dataclass
from .array_leaf import array_of, leaf_of_tensors, leaf_of_windows
from .fingerprint import Fingerprint
from .items import TORCHVISION, Items, Picture, items_of, reader_of
from .opened_leaf import leaf_of
from .rows import Windows, windows_of
from .views import Grounds
from .views.opened import Opened, opened_by

_FOLDERS = ("ImageFolder", "DatasetFolder")
_CIFAR = ("CIFAR10", "CIFAR100")
_MNIST = ("MNIST", "FashionMNIST", "KMNIST")
_IMAGE_AND_LABEL = [Field("chain"), Field("array", 1)]


@dataclass
class Rows:
    """What a dataset looks like from outside: its leaves, and which row each index is."""

    leaves: list[Leaf]
    count: int
    fields: list[Field]
    source: list[Node]  # the first nodes of the chain; none: nothing but arrays
    # Of the leaves, for their transforms. Items: what was found in a data set of the program's own.
    datasets: list[Any] = field(default_factory=list)
    rows: np.ndarray | None = None  # int64[count]; None: index == row
    opened: Opened | None = None  # by a loader of the program's own
    grounds: tuple[Grounds, ...] = ()  # of a loader that only reads
    structure: Structure | None = None  # of a sample, with its fields' numbers; None: it is a tuple

    @property
    def calls(self) -> list[Call]:
        """Of OpenCV's functions, which are tried before they are used."""
        own = [call for one in self.datasets if isinstance(one, Items) for call in one.calls]
        return own if self.opened is None else [*own, *self.opened.calls]

    def path_of(self, index: int) -> str:
        """The file of a sample, of several the first; empty where there is none."""
        row = index if self.rows is None else int(self.rows[index])
        for leaf, dataset in zip(self.leaves, self.datasets, strict=True):
            if row < leaf.rows:
                if isinstance(dataset, Items):
                    return dataset.paths[0][row] if dataset.paths else ""
                samples = getattr(dataset, "samples", None)
                return "" if samples is None else os.fspath(samples[row][0])
            row -= leaf.rows
        return ""

    @property
    def index_types(self) -> tuple[type, ...] | None:
        """As Items.index_types, of all data sets of the program's own. None: there is none, and
        torchvision's take any integer, negative ones from the end."""
        own = [one.index_types for one in self.datasets if isinstance(one, Items | Windows)]
        return min(own, key=lambda types: len(types) or 9) if own else None


def rows_of(dataset: Any, seen: Fingerprint) -> Rows:
    """Raises NotNative with the dataset's name."""
    cls = type(dataset)
    if cls is Subset:
        return _subset(dataset, seen)
    if cls is ConcatDataset:
        return _concat(dataset, seen)
    if cls is TensorDataset:
        arrays = leaf_of_tensors(dataset, seen)
        return Rows([arrays], arrays.rows, _arrays_in(arrays), [], [dataset])
    if (leaf := leaf_of(dataset, seen)) is not None:
        return Rows([leaf], leaf.rows, _IMAGE_AND_LABEL, decode_nodes(), [dataset])
    vision = sys.modules.get("torchvision.datasets")
    name = cls.__name__
    if vision is not None and getattr(vision, name, None) is cls:
        _check_unaltered(dataset)
        if name in _FOLDERS:
            return _folder(dataset, seen)
        if name in _CIFAR:
            return _cifar(dataset, seen)
        if name in _MNIST:
            return _mnist(dataset, seen)
    return _own(dataset, seen)


def only_tensors(dataset: Any) -> bool:
    """Are its samples rows of tensors, with nothing to compute?"""
    if type(dataset) is Subset:
        return only_tensors(dataset.dataset)
    if type(dataset) is ConcatDataset:
        return all(map(only_tensors, dataset.datasets))
    return type(dataset) is TensorDataset


def _own(dataset: Any, seen: Fingerprint) -> Rows:
    """A data set of the program's own, whose code is followed."""
    why: NotNative | None = None
    try:
        windows = windows_of(dataset)
    except NotNative as refused:  # pictures with labels of an array in a file, perhaps
        windows, why = None, refused
    if windows is not None:
        leaf = leaf_of_windows(windows, seen)
        return Rows([leaf], leaf.rows, _arrays_in(leaf), [], [windows], structure=windows.result)
    try:
        items = items_of(dataset)
    except NotNative as refused:
        raise why or refused from None
    seen.add_check(items.seen.same)
    seen.add_check(items.lists.same)
    files = len(items.paths)
    paths = [path for row in zip(*items.paths, strict=True) for path in row]
    here = os.getcwd()
    if not all(map(os.path.isabs, paths)):
        seen.add_value(os.getcwd)
    labels = items.labels[0] if items.labels else [0] * items.count
    table = binding.encode_file_table(
        here,
        _below(os.path.join(here, ""), paths, here),
        [label for label in labels for _ in range(files)],
    )
    leaf = Leaf("local_dir", items.count, table)
    if files > 1:
        leaf = Leaf("file_groups", items.count, table, args={"files": files})
    made = items.sources[0]
    source = [made] if made is not None else decode_nodes(items.modes[0], items.libraries[0])
    return Rows([leaf], items.count, _IMAGE_AND_LABEL, source, [items])


def _check_unaltered(dataset: Any) -> None:
    getitem = type(dataset).__getitem__
    if not getattr(getitem, "__module__", "").startswith("torchvision.datasets."):
        raise NotNative(
            f"{name_of(dataset)}.__getitem__ was replaced",
            "leave torchvision's own method in place",
        )


def _folder(dataset: Any, seen: Fingerprint) -> Rows:
    folder = sys.modules["torchvision.datasets.folder"]
    loader = seen.add_identity(dataset, "loader")
    backend = sys.modules["torchvision"].get_image_backend()
    if loader is folder.default_loader and backend != "PIL":
        raise NotNative(
            f"torchvision's image backend is {backend}, not PIL",
            "torchvision.set_image_backend('PIL')",
        )
    samples = seen.add_list(dataset, "samples")
    paths = list(map(operator.itemgetter(0), samples))
    labels = list(map(operator.itemgetter(1), samples))
    if set(map(type, paths)) - {str}:
        raise NotNative(f"{name_of(dataset)}.samples holds paths that are not str")
    if not all(map(str.isascii, paths)):
        try:
            "".join(paths).encode()
        except UnicodeEncodeError:
            raise NotNative(
                f"{name_of(dataset)}.samples holds file names that are not text"
            ) from None
    source, opened = decode_nodes(), None
    grounds: tuple[Grounds, ...] = ()
    if loader is not folder.default_loader and loader is not folder.pil_loader and paths:
        found = _read_by(loader, paths, seen)
        if isinstance(found, Opened):
            source, opened = [found.source], found
        else:
            source, grounds = decode_nodes(found[0].mode, found[0].library), (found[1],)
    root = os.fspath(dataset.root)
    if not os.path.isabs(root):
        seen.add_value(os.getcwd)
    here = os.getcwd()
    inside = _below(os.path.join(root, ""), paths, here)
    root = os.path.join(here, root)
    table = binding.encode_file_table(root, inside, _labels(dataset, labels))
    leaf = Leaf("local_dir", len(samples), table)
    return Rows([leaf], len(samples), _IMAGE_AND_LABEL, source, [dataset], None, opened, grounds)


def _read_by(loader: Any, paths: list[str], seen: Fingerprint) -> Opened | tuple[Picture, Grounds]:
    """What a loader of the program's own does: by OpenCV, or by PIL and torchvision.io."""
    try:
        picture, grounds = reader_of(loader, paths)
    except NotNative:
        if "cv2" not in sys.modules:
            raise
        opened = opened_by(loader)
        seen.add_value(opened.seen.same)
        return opened
    seen.add_check(grounds.same)
    return picture, grounds


def _below(prefix: str, paths: list[str], here: str) -> list[str]:
    """The paths without the prefix; absolute where they do not begin with it. What follows a prefix
    may begin with "/", too, and would be absolute without it."""
    begin = len(prefix)
    # What lies between two texts that begin with the prefix does, too.
    if paths and min(paths).startswith(prefix) and max(paths).startswith(prefix):
        inside = [path[begin:] for path in paths]
        if not any(path.startswith("/") for path in inside):
            return inside
    return [
        path[begin:]
        if path.startswith(prefix) and not path.startswith("/", begin)
        else os.path.join(here, path)
        for path in paths
    ]


def decode_nodes(mode: str = "RGB", library: str = "", file: int = 0) -> list[Node]:
    """A picture of PIL's or, by torchvision.io, a tensor. `mode`: empty: the one of the file, of one
    channel. `file`: of the sample's files, which one."""
    of_file = {"file": file} if file else {}
    inputs = [SOURCE] if file else []
    if library != TORCHVISION:
        label = f'Image.open(path).convert("{mode}")' if mode else "Image.open(path)"
        return [Node("decode", {"mode": mode or INDEX, **of_file}, label=label, inputs=inputs)]
    label = f"decode_image(path, ImageReadMode.{mode})"
    args = {"mode": mode, "library": TORCHVISION, **of_file}
    decode = Node("decode", args, label=label, inputs=inputs)
    return [decode, Node("pil_to_tensor", label=label)]


def _from_array(mode: str) -> list[Node]:
    return [Node("from_array", {"mode": mode}, label=f"Image.fromarray(row, mode={mode!r})")]


def _labels(dataset: Any, labels: Sequence[Any]) -> list[int]:
    if set(map(type, labels)) - {int}:
        raise NotNative(f"{name_of(dataset)} has labels that are not int")
    if labels and not (-(2**63) <= min(labels) and max(labels) < 2**63):
        raise NotNative(f"{name_of(dataset)} has labels beyond 64 bits")
    return list(labels)


def _cifar(dataset: Any, seen: Fingerprint) -> Rows:
    data = dataset.data
    if not (isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.ndim == 4):
        raise NotNative(f"{name_of(dataset)}.data is not an array of uint8 images")
    if type(dataset.targets) is not list:
        raise NotNative(f"{name_of(dataset)}.targets is not a list")
    targets = _labels(dataset, seen.add_list(dataset, "targets"))
    return _images(dataset, data, np.asarray(targets, np.int64), seen)


def _mnist(dataset: Any, seen: Fingerprint) -> Rows:
    data, targets = dataset.data, dataset.targets
    for tensor in (data, targets):
        if type(tensor) is not torch.Tensor or tensor.device.type != "cpu":
            raise NotNative(f"{name_of(dataset)}.data or .targets is not a CPU tensor")
    if data.dtype != torch.uint8 or data.ndim != 3 or targets.ndim != 1:
        raise NotNative(f"{name_of(dataset)}.data is not an array of uint8 images")
    if targets.is_floating_point() or targets.is_complex():
        raise NotNative(f"{name_of(dataset)}.targets are not integers")
    seen.add_bytes(lambda: dataset.targets.numpy())
    return _images(dataset, data.numpy(), targets.to(torch.int64).numpy(), seen)


def _images(dataset: Any, data: np.ndarray, targets: np.ndarray, seen: Fingerprint) -> Rows:
    if len(targets) != len(data):
        raise NotNative(f"{name_of(dataset)} has {len(data)} images and {len(targets)} labels")
    if data.ndim == 4 and data.shape[3] != 3:
        raise NotNative(f"{name_of(dataset)}.data has {data.shape[3]} channels, not 3")
    mode = "RGB" if data.ndim == 4 else "L"
    seen.add_bytes(lambda: np.asarray(dataset.data))
    leaf = Leaf("arrays", len(data), arrays=[array_of(data), array_of(targets)])
    return Rows([leaf], len(data), _IMAGE_AND_LABEL, _from_array(mode), [dataset])


def _arrays_in(leaf: Leaf) -> list[Field]:
    return [Field("array", i) for i in range(len(leaf.arrays))]


def _subset(dataset: "Subset[Any]", seen: Fingerprint) -> Rows:
    inner = rows_of(dataset.dataset, seen)
    seen.add_identity(dataset, "dataset")
    indices = _indices(dataset, seen)
    if len(indices) and (indices.min() < -inner.count or indices.max() >= inner.count):
        raise NotNative("Subset.indices has entries beyond its dataset")
    if (types := inner.index_types) is not None:
        held = dataset.indices
        found = {held.dtype.type} if isinstance(held, np.ndarray) else set(map(type, held))
        if (len(indices) and indices.min() < 0) or not found <= set(types or found):
            raise NotNative(
                "Subset.indices are other than integers of Python from 0 on, and the data set's own "
                "code may see the difference",
                "a list of integers from 0 on",
            )
    indices = np.where(indices < 0, indices + inner.count, indices)
    rows = indices if inner.rows is None else inner.rows[indices]
    return Rows(
        inner.leaves,
        len(rows),
        inner.fields,
        inner.source,
        inner.datasets,
        rows,
        inner.opened,
        inner.grounds,
        inner.structure,
    )


def _indices(dataset: "Subset[Any]", seen: Fingerprint) -> np.ndarray:
    kept = seen.add_list(dataset, "indices")
    try:
        array = np.asarray(kept)
    except ValueError:
        raise NotNative("Subset.indices is not a list of integers") from None
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise NotNative("Subset.indices is not a list of integers")
    return array.astype(np.int64)


def _concat(dataset: "ConcatDataset[Any]", seen: Fingerprint) -> Rows:
    parts = [rows_of(part, seen) for part in dataset.datasets]
    seen.add_value(lambda: tuple(id(part) for part in dataset.datasets))
    first = parts[0]
    for part in parts:
        kind = part.fields, part.source, part.structure
        if kind != (first.fields, first.source, first.structure) or part.opened:
            raise NotNative(
                "ConcatDataset of datasets of different kinds", "give each kind a loader of its own"
            )
    if list(np.cumsum([part.count for part in parts])) != list(dataset.cumulative_sizes):
        raise NotNative("ConcatDataset.cumulative_sizes does not fit its datasets")
    rows, offset = [], 0
    for part in parts:
        rows.append(offset + (np.arange(part.count) if part.rows is None else part.rows))
        offset += sum(leaf.rows for leaf in part.leaves)
    leaves = [leaf for part in parts for leaf in part.leaves]
    identity = all(part.rows is None for part in parts)
    return Rows(
        leaves,
        sum(part.count for part in parts),
        first.fields,
        first.source,
        [dataset for part in parts for dataset in part.datasets],
        None if identity else np.concatenate(rows).astype(np.int64),
        grounds=tuple(grounds for part in parts for grounds in part.grounds),
        structure=first.structure,
    )
