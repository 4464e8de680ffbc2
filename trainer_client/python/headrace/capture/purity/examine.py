"""The findings about a loader's dataset and collate_fn."""

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..plan import PURE, RANDOM, STATEFUL
from .calls import apply, use_library_object
from .effects import Walker
from .frames import Frame
from .live import Settings
from .source import may_write
from .values import FRESH, Value, is_own_code
from .verdict import Finding, findings

_MOST_RECURSION = 5_000


def findings_of(loader: Any) -> list[Finding]:
    """What in the code of a map-style loader keeps state."""
    settings_hold = _leaves_dataset_alone(loader.worker_init_fn)
    return examine(loader.dataset, loader.collate_fn, loader._auto_collation, settings_hold)


def _leaves_dataset_alone(worker_init_fn: Any) -> bool:
    """Whether it is sure not to change the dataset's settings in the workers."""
    if worker_init_fn is None:
        return True
    if not isinstance(worker_init_fn, types.FunctionType) or worker_init_fn.__closure__:
        return False
    code = worker_init_fn.__code__
    return "dataset" not in code.co_names and not may_write(code)


def examine(
    dataset: Any, collate_fn: Any, getitems: bool = True, settings_hold: bool = True
) -> list[Finding]:
    """What in the code of these keeps state. Runs none of it. `getitems`: batches are asked for by
    __getitems__ where the dataset has it. `settings_hold`: the copies on the workers have the
    attributes that the dataset has here."""

    def follow(walker: Walker) -> None:
        _follow_dataset(walker, dataset, getitems)
        if collate_fn is not None:
            _follow_callable(walker, collate_fn, "collate_fn")

    return _findings(_walk(follow, settings_hold))


def class_of(part: Any, name: str) -> tuple[str, str]:
    """Pure, random or stateful, and where that is seen. `name`: "dataset", or what is called."""

    def follow(walker: Walker) -> None:
        if name == "dataset":
            _follow_dataset(walker, part, True)
        else:
            _follow_callable(walker, part, name)

    walker = _walk(follow, True)
    for finding in _findings(walker):
        return STATEFUL, f"{finding.where} {finding.text}"
    for event in walker.events:
        if event.kind == "draw":
            return RANDOM, f"{event.where} draws {event.path}".removeprefix("(:?) ")
    return PURE, ""


def _findings(walker: Walker) -> list[Finding]:
    found = [] if walker.whole else [_TOO_LARGE]
    return findings(walker.events) + found + [
        Finding(name, f"{name} may write to what lasts, and its source can't be read", name,
                "keep the program's files as they were when it was started")
        for name in dict.fromkeys(walker.unread)
    ]  # fmt: skip


@contextmanager
def _deep_calls() -> Iterator[None]:
    """Code is followed call by call, each some twenty calls deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _MOST_RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _walk(follow: Callable[[Walker], None], settings_hold: bool) -> Walker:
    """Follows the code until what was taken for settings is not found to be written."""
    settings = Settings(settings_hold)
    while True:
        walker = Walker(settings)
        walker.frames.append(Frame(None, {}, "("))
        with _deep_calls():
            try:
                follow(walker)
            except Exception:  # objects may do anything when they are looked at
                walker.whole = False
        if settings.hold(walker.events):
            return walker


def _follow_dataset(walker: Walker, dataset: Any, getitems: bool) -> None:
    names = ("__getitems__", "__getitem__") if getitems else ("__getitem__",)
    name = next((n for n in names if callable(getattr(type(dataset), n, None))), "__getitem__")
    me = Value("self", (dataset,))
    function = getattr(type(dataset), name, None)
    if isinstance(function, types.FunctionType) and is_own_code(function):
        walker.run(function, [me, FRESH])
    else:
        use_library_object(walker, me, _NOWHERE)


def _follow_callable(walker: Walker, thing: Any, name: str) -> None:
    apply(walker, Value(name, (thing,)), thing, [FRESH], {}, _NOWHERE)


_TOO_LARGE = Finding(
    "", "is too large or too odd to be followed, and may keep state", "its code",
    "nothing in the program: it runs as it does without Headrace",
)  # fmt: skip
_NOWHERE = types.SimpleNamespace(lineno="?", args=[], keywords=[])
