"""Why a loader has no native form, and what it was like when that was found out.

To find it out, code is followed and contents are read, which may take as long as a short epoch. So it is not
found out again while the loader looks as it did. What is looked at is the pipeline's shape: its objects, their
plain attributes, its functions and classes. Large containers, tensors and arrays are all alike: programs make new
ones for each epoch. Whoever changes only what is not looked at keeps a loader that runs as code, with the same
batches; from time to time all is found out again.
"""

import types
from typing import Any

import numpy as np
import torch

_MOST_OBJECTS = 500
_LARGEST_CONTAINER = 64
_ATOMS = (int, float, complex, bool, str, bytes, type(None))
_BULK = (torch.Tensor, np.ndarray)
_FUNCTIONS = (types.FunctionType, types.MethodType)
_AGAIN_AFTER = 16  # iterations


class Refusal:
    """Of one loader. Keeps none of its objects alive. One thread."""

    def __init__(self, loader: Any, rng: str, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        self._shape = _shape_of(loader, rng)
        self._asked = 0

    def holds(self, loader: Any, rng: str) -> bool:
        """Whether the reason still stands, as far as can be seen. Runs no code of the program's."""
        self._asked += 1
        return self._asked < _AGAIN_AFTER and _shape_of(loader, rng) == self._shape


def _shape_of(loader: Any, rng: str) -> list[Any]:
    """Equal for loaders that look the same. Objects are told apart by their ids."""
    roots = loader.dataset, loader.collate_fn, loader.worker_init_fn, loader.multiprocessing_context
    process = torch.get_default_dtype(), str(torch.get_default_device())
    shape: list[Any] = [rng, loader.num_workers, *map(str, process)]
    queue, seen, at = list(roots), set[int](), 0
    while at < len(queue) and len(seen) < _MOST_OBJECTS:
        value = queue[at]
        at += 1
        kind = type(value)
        if kind in _ATOMS:
            shape.append((kind, value))
            continue
        if kind in _BULK or (kind in (list, tuple, dict) and len(value) > _LARGEST_CONTAINER):
            shape.append(kind)
            continue
        shape.append(id(value))
        if id(value) in seen or kind is types.ModuleType:
            continue
        seen.add(id(value))
        shape.append(id(kind))
        queue += _parts_of(value, kind, shape)
    return shape


def _parts_of(value: Any, kind: type, shape: list[Any]) -> list[Any]:
    """What else is looked at. Adds to the shape what is not."""
    if kind in (list, tuple, dict):
        shape.append(len(value))
        return [*value, *value.values()] if kind is dict else [*value]
    if issubclass(kind, type):
        held = vars(value)
        shape.append([*map(id, held.values())])
        return []
    if kind in _FUNCTIONS:
        function = value.__func__ if kind is types.MethodType else value
        if type(function) is not types.FunctionType:
            return []
        cells = [id(cell.cell_contents) for cell in function.__closure__ or () if _is_full(cell)]
        shape.append((id(function.__code__), cells))
        return [value.__self__] if kind is types.MethodType else []
    held = _attributes_of(value)
    shape.append([*map(id, held)])
    return [*kind.__mro__[:-1], *held.values()]


def _attributes_of(value: Any) -> dict[str, Any]:
    """Without the program's hooks."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
