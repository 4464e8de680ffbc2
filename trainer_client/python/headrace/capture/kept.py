"""What the program's code was seen to keep while it ran: it stays on this host for the program's life.

It is remembered by the code, not by its objects, because many programs make new loaders each epoch.
Code is known by the classes of the data sets that lie in one another, and by collate_fn and
worker_init_fn.
"""

from typing import Any

Code = tuple[Any, ...]
_DEEPEST = 16

_seen: dict[Code, str] = {}


def code_of(loader: Any) -> Code:
    parts: list[Any] = []
    dataset = loader.dataset
    while dataset is not None and len(parts) < _DEEPEST:
        parts.append(type(dataset))
        dataset = getattr(dataset, "__dict__", {}).get("dataset")
    return (*parts, _of(loader.collate_fn), _of(loader.worker_init_fn))


def remember(code: Code, what: str) -> str:
    """`what`: as headrace.stage.watch says it. Returns why the code stays, for people."""
    return _seen.setdefault(code, f"{what} after a batch, so it keeps state")


def why(code: Code) -> str:
    """Empty: nothing was seen."""
    return _seen.get(code, "")


def remedy() -> str:
    """What would let it go."""
    from .proof.proof import REMEDIES, Code  # a third of the package's import

    return REMEDIES[Code.WRITES_STATE]


def _of(function: Any) -> Any:
    """The code of a function: a lambda that is made again is the same code."""
    return getattr(function, "__code__", None) or type(function)
