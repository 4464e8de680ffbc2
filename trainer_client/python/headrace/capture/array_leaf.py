"""The leaves of arrays: those in memory travel with the plan, and those in files stay there."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset

from ..native import binding
from ..native.plan import DTYPES, Array, Leaf, Local, NotNative
from .fingerprint import Fingerprint
from .handles import Refused
from .rows import FileMemory, Windows, memory_of_file

# Serving arrays means copying them to the workers once.
MAX_ARRAY_BYTES = 1 << 30

# Of an array in a file: the file, its byte of row 0, and the bytes from row to row.
_Place = tuple[FileMemory, int, int]


def leaf_of_tensors(dataset: TensorDataset, seen: Fingerprint) -> Leaf:
    """Raises NotNative and Local."""
    seen.add_value(lambda: [(t.dtype, t.device) for t in dataset.tensors])
    tensors = dataset.tensors
    if not tensors:
        raise NotNative("TensorDataset without tensors")
    arrays = []
    columns: list[_Place | None] = []
    for i, tensor in enumerate(tensors):
        if type(tensor) is not torch.Tensor or tensor.layout != torch.strided:
            raise NotNative(f"TensorDataset.tensors[{i}] is not a plain dense tensor")
        if tensor.is_shared():
            raise NotNative(
                f"TensorDataset.tensors[{i}] lies in shared memory, where workers see it change",
                "nothing: its own workers see it",
            )
        if tensor.device.type != "cpu":
            raise Local(
                f"TensorDataset.tensors[{i}] is on {tensor.device}",
                "keep the tensors on the CPU and move each batch in the training loop",
            )
        if tensor.requires_grad or tensor.dtype not in DTYPES or tensor.numel() == 0:
            raise NotNative(f"TensorDataset.tensors[{i}] has no native form")
        columns.append(column := _in_file(tensor))
        if column is None:
            arrays.append(_tensor(tensor))
            seen.add_bytes(functools.partial(_bytes_at, dataset, i))
        else:
            arrays.append(Array(None, DTYPES[tensor.dtype], list(tensor.shape[1:])))
            seen.add_check(functools.partial(_is_in, dataset, i, tensor, column[0]))
    count = len(tensors[0])
    args = _places(columns)
    return Leaf("array_files" if args else "arrays", count, arrays=arrays, args=args)


def leaf_of_windows(windows: Windows, seen: Fingerprint) -> Leaf:
    seen.add_check(windows.same)
    arrays = [Array(None, one.dtype, list(one.shape)) for one in windows.fields]
    args = _places([(one.place, one.first, one.step) for one in windows.fields])
    args |= {f"elements{i}": one.elements for i, one in enumerate(windows.fields) if one.elements}
    return Leaf("array_files", windows.count, arrays=arrays, args=args)


def _places(columns: Sequence[_Place | None]) -> dict[str, Any]:
    """The arguments of the source array_files. None: the array is a blob."""
    files: list[tuple[str, str]] = []
    args: dict[str, Any] = {}
    for i, column in enumerate(columns):
        if column is None:
            continue
        place, first, step = column
        file = (place.path, place.version)
        if file not in files:
            args |= {f"path{len(files)}": place.path, f"version{len(files)}": place.version}
            files.append(file)
        args[f"place{i}"] = [files.index(file), first, step]
    return args


def _in_file(tensor: torch.Tensor) -> _Place | None:
    """As _places takes it. None: the tensor lies in memory, or in a file that workers can't read."""
    if tensor.ndim == 0 or tensor.is_neg() or not tensor[0].is_contiguous():
        return None
    try:
        place = memory_of_file(tensor)
    except Refused:  # copied as any other: it is what the program has now
        return None
    if place is None:
        return None
    return place, place.first, tensor.stride(0) * tensor.element_size()


def _is_in(dataset: Any, i: int, tensor: torch.Tensor, place: FileMemory) -> bool:
    """Whether it is the same tensor, which is a view of memory that never moves, of the same file."""
    held = dataset.tensors
    return len(held) > i and held[i] is tensor and place.same(tensor)


def _bytes_at(dataset: Any, i: int) -> np.ndarray:
    return _bytes_of(dataset.tensors[i])


def _bytes_of(tensor: torch.Tensor) -> np.ndarray:
    """The elements as bytes: NumPy has no bfloat16."""
    return tensor.contiguous().reshape(-1).view(torch.uint8).numpy()


def _tensor(tensor: torch.Tensor) -> Array:
    raw = _bytes_of(tensor)
    if raw.nbytes > MAX_ARRAY_BYTES:
        raise Local(
            f"{raw.nbytes / 2**30:.1f} GiB of tensors would be copied to the workers",
            "keep the samples in files that the workers can read",
        )
    return Array(_snapshot(raw), DTYPES[tensor.dtype], list(tensor.shape[1:]))


def array_of(data: np.ndarray) -> Array:
    if data.nbytes > MAX_ARRAY_BYTES:
        raise Local(
            f"{data.nbytes / 2**30:.1f} GiB of arrays would be copied to the workers",
            "keep the samples in files that the workers can read",
        )
    return Array(_snapshot(data), str(data.dtype), list(data.shape[1:]))


def _snapshot(data: np.ndarray) -> Any:
    """A copy: as with forked workers, what the program changes later is for its next iter()."""
    return binding.Blob(np.array(data, order="C", copy=True))
