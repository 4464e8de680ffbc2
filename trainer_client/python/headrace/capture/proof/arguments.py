"""What a call is given."""

from collections.abc import Iterable, Mapping

from .values import NOTHING, Value


class Arguments:
    """rest: of positions that are not counted; more: of names that are not known."""

    def __init__(
        self,
        args: Iterable[Value] = (),
        named: Mapping[str, Value] | None = None,
        rest: Value = NOTHING,
        more: Value = NOTHING,
    ) -> None:
        self.args: list[Value] = list(args)
        self.named: dict[str, Value] = dict(named or {})
        self.rest, self.more = rest, more

    def all(self) -> Value:
        return frozenset().union(*self.args, *self.named.values(), self.rest, self.more)

    def at(self, position: int, name: str = "") -> Value:
        if position < len(self.args):
            return self.args[position]
        return self.named.get(name, NOTHING) | self.rest | self.more

    def behind(self, first: Value) -> "Arguments":
        return Arguments([first, *self.args], self.named, self.rest, self.more)
