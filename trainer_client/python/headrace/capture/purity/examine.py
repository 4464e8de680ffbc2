"""The findings about a loader's dataset and collate_fn."""

import types
from typing import Any

from ..plan import Local
from .calls import _call, _trusted_object
from .effects import Frame, Walker
from .values import FRESH, Value, is_own_code
from .verdict import Finding, findings


def check_stateless(loader: Any) -> None:
    """Raises Local with the first finding."""
    for finding in examine(loader.dataset, loader.collate_fn, loader._auto_collation):
        raise Local(f"{finding.where} {finding.text}")


def examine(dataset: Any, collate_fn: Any, getitems: bool = True) -> list[Finding]:
    """What in the code of these keeps state. Runs none of it. `getitems`: batches are asked for by
    __getitems__ where the dataset has it."""
    walker = Walker()
    walker._frames.append(Frame(None, {}, "("))
    names = ("__getitems__", "__getitem__") if getitems else ("__getitem__",)
    name = next((n for n in names if callable(getattr(type(dataset), n, None))), "__getitem__")
    me = Value("self", (dataset,))
    function = getattr(type(dataset), name, None)
    if isinstance(function, types.FunctionType) and is_own_code(function):
        walker.run(function, [me, FRESH])
    else:
        _trusted_object(walker, me, _NOWHERE)
    if collate_fn is not None:
        _call(walker, Value("collate_fn", (collate_fn,)), collate_fn, [FRESH], {}, _NOWHERE)
    return findings(walker.events) + [
        Finding(name, f"{name} may write to what lasts, and its source can't be read", name,
                "keep the program's files as they were when it was started")
        for name in dict.fromkeys(walker.unread)
    ]  # fmt: skip


_NOWHERE = types.SimpleNamespace(lineno="?", args=[], keywords=[])
