"""What is known of a function's values before one of its instructions (only_use.py)."""

from typing import Any

from .known_values import OTHER, PICTURE, TAKEN, Known


class NotShown(Exception):
    pass


class State:
    """Of a function before one of its instructions."""

    def __init__(self, stack: list[Any], names: dict[str, Any], stale: bool) -> None:
        self.stack, self.names = stack, names
        self.has_keywords = False  # of the call that comes next
        self.stale = stale  # code has run since the picture was read, which may rebind anything

    def copy(self) -> "State":
        copied = State(list(self.stack), dict(self.names), self.stale)
        copied.has_keywords = self.has_keywords
        return copied

    def joined(self, other: "State") -> "State | None":
        """What holds on both ways; None: no less than here."""
        if len(self.stack) != len(other.stack):
            raise NotShown
        stack = list(map(_join, self.stack, other.stack))
        names = {
            name: _join(self.names.get(name, OTHER), other.names.get(name, OTHER))
            for name in {*self.names, *other.names}
        }
        stale = self.stale or other.stale
        same = stack == self.stack and names == self.names and stale == self.stale
        if same:
            return None
        state = State(stack, names, stale)
        state.has_keywords = self.has_keywords  # a matter of the place alone
        return state

    def has_picture(self) -> bool:
        """Also if a transform has taken it."""
        return any(map(is_picture, (*self.stack, *self.names.values())))

    def take(self) -> None:
        """A transform takes the picture, under all the names that it has."""
        self.stack = list(map(_taken, self.stack))
        self.names = {name: _taken(value) for name, value in self.names.items()}

    def pop(self, count: int = 1) -> list[Any]:
        if count == 0:
            return []
        taken = self.stack[-count:]
        if len(taken) < count:
            raise NotShown
        del self.stack[-count:]
        return taken

    def forget(self) -> None:
        """Values that other code may have rebound before the picture is read."""
        self.stack = [_stable(value) for value in self.stack]
        self.names = {name: _stable(value) for name, value in self.names.items()}


def is_picture(value: Any) -> bool:
    return value is PICTURE or value is TAKEN


def _taken(value: Any) -> Any:
    return TAKEN if value is PICTURE else value


def _join(a: Any, b: Any) -> Any:
    if a is TAKEN or b is TAKEN:
        return TAKEN
    if a is PICTURE or b is PICTURE:
        return PICTURE
    return a if a == b else OTHER


def _stable(value: Any) -> Any:
    return value if not isinstance(value, Known) or value.is_stable else OTHER
