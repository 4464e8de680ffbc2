"""The findings about a loader's dataset and collate_fn."""

import types
from typing import Any

from ..plan import PURE, RANDOM, STATEFUL, Local
from .calls import _call, _trusted_object
from .effects import Frame, Walker
from .values import FRESH, Value, is_own_code
from .verdict import Finding, findings


def check_stateless(loader: Any) -> None:
    """Raises Local with the first finding."""
    for finding in examine(loader.dataset, loader.collate_fn, loader._auto_collation):
        raise Local(f"{finding.where} {finding.text}", finding.remedy)


def examine(dataset: Any, collate_fn: Any, getitems: bool = True) -> list[Finding]:
    """What in the code of these keeps state. Runs none of it. `getitems`: batches are asked for by
    __getitems__ where the dataset has it."""
    walker = _new_walker()
    _walk_dataset(walker, dataset, getitems)
    if collate_fn is not None:
        _walk_callable(walker, collate_fn, "collate_fn")
    return _findings(walker)


def class_of(part: Any, name: str) -> tuple[str, str]:
    """Pure, random or stateful, and where that is seen. `name`: "dataset", or what is called."""
    walker = _new_walker()
    if name == "dataset":
        _walk_dataset(walker, part, True)
    else:
        _walk_callable(walker, part, name)
    for finding in _findings(walker):
        return STATEFUL, f"{finding.where} {finding.text}"
    for event in walker.events:
        if event.kind == "draw":
            return RANDOM, f"{event.where} draws {event.path}".removeprefix("(:?) ")
    return PURE, ""


def _new_walker() -> Walker:
    walker = Walker()
    walker._frames.append(Frame(None, {}, "("))
    return walker


def _walk_dataset(walker: Walker, dataset: Any, getitems: bool) -> None:
    names = ("__getitems__", "__getitem__") if getitems else ("__getitem__",)
    name = next((n for n in names if callable(getattr(type(dataset), n, None))), "__getitem__")
    me = Value("self", (dataset,))
    function = getattr(type(dataset), name, None)
    if isinstance(function, types.FunctionType) and is_own_code(function):
        walker.run(function, [me, FRESH])
    else:
        _trusted_object(walker, me, _NOWHERE)


def _walk_callable(walker: Walker, thing: Any, name: str) -> None:
    _call(walker, Value(name, (thing,)), thing, [FRESH], {}, _NOWHERE)


def _findings(walker: Walker) -> list[Finding]:
    return findings(walker.events) + [
        Finding(name, f"{name} may write to what lasts, and its source can't be read", name,
                "keep the program's files as they were when it was started")
        for name in dict.fromkeys(walker.unread)
    ]  # fmt: skip


_NOWHERE = types.SimpleNamespace(lineno="?", args=[], keywords=[])
