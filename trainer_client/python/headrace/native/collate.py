"""How samples become a batch."""

from typing import Any

import numpy as np
import torch
from torch.utils.data._utils import collate
from torch.utils.data._utils.collate import default_collate_fn_map

from .plan import NotNative

_default_collate = collate.default_collate
# torch's table as it comes, by the names of its functions. Programs may add entries, or replace them,
# before this module is imported too.
_TABLE: dict[Any, str] = {
    torch.Tensor: "collate_tensor_fn",
    np.ndarray: "collate_numpy_array_fn",
    (np.bool_, np.number, np.object_): "collate_numpy_scalar_fn",
    float: "collate_float_fn",
    int: "collate_int_fn",
    str: "collate_str_fn",
    bytes: "collate_str_fn",
}


def check_native(loader: Any) -> None:
    """Raises NotNative unless batches are made by a collate_fn, and torch's own is as it comes."""
    if not loader._auto_collation:
        raise NotNative("batch_size=None yields single samples", "let the loader batch them")
    if not all(_is_torchs(kind, function) for kind, function in default_collate_fn_map.items()):
        raise NotNative(
            "the program changed torch's default_collate_fn_map",
            "leave the table as it is and pass a collate_fn to the loaders that need one",
        )


def is_default(collate_fn: Any) -> bool:
    """Whether it is torch's own default_collate."""
    return collate_fn is _default_collate


def _is_torchs(kind: Any, function: Any) -> bool:
    """An entry of the table. The functions themselves are looked at by alterations.py."""
    return kind in _TABLE and function is getattr(collate, _TABLE[kind], None)


def name_of(function: Any) -> str:
    """A short name for a callable, as people would point to it in their program."""
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    module = getattr(inner, "__module__", None)
    return f"{module}.{name}" if module and module not in ("__main__", "builtins") else name
