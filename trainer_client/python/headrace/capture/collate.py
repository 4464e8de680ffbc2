"""How samples become a batch."""

from typing import Any

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from .plan import NotNative

_default_collate = torch.utils.data._utils.collate.default_collate
# Programs may add entries to torch's table, or replace them.
_default_map = dict(default_collate_fn_map)


def check_native(loader: Any) -> None:
    """Raises NotNative unless a batch is torch's own default_collate of its samples."""
    if not loader._auto_collation:
        raise NotNative("batch_size=None yields single samples", "let the loader batch them")
    if loader.collate_fn is not _default_collate:
        raise NotNative(
            f"collate_fn={name_of(loader.collate_fn)} is Python code",
            "leave collate_fn out where torch's default_collate gives the same batch",
        )
    if default_collate_fn_map != _default_map:
        raise NotNative(
            "the program changed torch's default_collate_fn_map",
            "leave the table as it is and pass a collate_fn to the loaders that need one",
        )


def name_of(function: Any) -> str:
    """A short name for a callable, as people would point to it in their program."""
    inner = getattr(function, "func", function)  # functools.partial
    name = getattr(inner, "__qualname__", None) or type(inner).__qualname__
    module = getattr(inner, "__module__", None)
    return f"{module}.{name}" if module and module not in ("__main__", "builtins") else name
