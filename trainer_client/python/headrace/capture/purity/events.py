"""What the pipeline's code does to things that outlive a sample, in the order of its text."""

from dataclasses import dataclass

from .values import Value


@dataclass(frozen=True)
class Event:
    """path: what it happens to, "self.cache". where: "Photos.__getitem__ (train.py:12)"."""

    # "write", "read", "item" (read by a key), "size" (len, in), "use", "file", "draw", "seed"
    kind: str
    path: str
    where: str
    certain: bool = False  # at each sample, not under a condition
    derived: bool = False  # a write from what was there: counted up, appended
    guarded: bool = False  # a write under "if it is not there yet"
    key: str = ""  # of an entry
    what: str = ""  # "use": of what kind of object
    shown: str = ""  # the path in full, for people
    behind: frozenset[str] = frozenset()  # paths whose absence led here
    by_any_name: bool = False  # a write to an attribute whose name is not known


def place(value: Value) -> tuple[str, str]:
    """The container that a value lies in, and its key there."""
    container, bracket, _ = value.path.partition("[...]")
    return container, (value.item or "?") if bracket else ""


def touches(event: Event, path: str) -> bool:
    """Whether a read sees `path`: it, something in it, or all that it is part of."""
    return event.path == path or _inside(event.path, path) or _inside(path, event.path)


def _inside(path: str, whole: str) -> bool:
    return path.startswith((f"{whole}.", f"{whole}["))
