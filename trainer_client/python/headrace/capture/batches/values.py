"""What an expression stands for while a collate_fn is followed, beside the values of views/."""

from collections.abc import Iterator
from typing import Any

from ...native.structure import Structure
from ..views.follower import Frame
from ..views.values import Special, Stop, is_constant, name

ITERATOR = object  # the kind of an Each that is used up once


class Scope:
    """One turn over the samples. What belongs to a sample is of no use outside of its turn."""

    __slots__ = ()


class Rest(Scope):
    """One turn over the samples after the first."""


class OfSample(Special):
    """What belongs to a sample, in the turn `scope`, a Scope; None: to all of them."""

    scope: Any

    def moved(self, after: Scope) -> "OfSample":
        """The same of another turn."""
        raise NotImplementedError


class Part(OfSample):
    """A sample, or a part of one: `structure` by the numbers of its fields."""

    called = "a part of a sample"

    def __init__(self, structure: Structure, scope: Scope) -> None:
        self.structure, self.scope = structure, scope

    @property
    def field(self) -> int:
        """REQUIRES: it is one."""
        assert isinstance(self.structure, int)
        return self.structure

    def moved(self, after: Scope) -> "Part":
        return Part(self.structure, after)

    def attribute(self, f: Any, of: str) -> Any:
        if type(self.structure) is not int:
            return super().attribute(f, of)
        found = f.of_tensor(self, of)
        return super().attribute(f, of) if found is None else found

    def entry(self, f: Any, key: Any) -> Any:
        of = self.structure
        if type(of) is dict and is_constant(key) and key in of:
            return Part(of[key], self.scope)
        if isinstance(of, list | tuple) and type(key) is int and -len(of) <= key < len(of):
            return Part(of[key], self.scope)
        raise Stop(f"takes an entry of {self.called}")

    def entries(self, f: Any) -> Iterator[Any]:
        if not isinstance(self.structure, list | tuple):
            raise Stop(f"goes through {self.called}")
        return iter([Part(part, self.scope) for part in self.structure])


class Each(Special):
    """A list, a tuple or an iterator with an entry for each sample, `of` of them in `scope`."""

    called = "what there is for each sample"

    def __init__(self, kind: type, of: Any, scope: Scope) -> None:
        self.kind, self.of, self.scope = kind, of, scope
        self._used = False
        self._lent = False  # its first entry is somewhere else, and may change

    def once(self, f: Any, turn: type[Scope] = Scope) -> tuple[Any, Scope]:
        """What there is for one sample, in a turn of its own."""
        if self.kind is ITERATOR:
            if self._used:
                raise Stop("goes through an iterator twice")
            self._used = True
        if self._lent and turn is not Rest:
            raise Stop("uses a list whose first entry may have changed")
        scope = turn()
        return moved(self.of, self.scope, scope), scope

    def entry(self, f: Any, key: Any) -> Any:
        """The first one, the one whose turn it is by its number, or all after the first."""
        if self.kind is ITERATOR:
            return super().entry(f, key)
        if type(key) is slice and (key.start, key.stop, key.step) == (1, None, None):
            return AfterFirst(self)
        if type(key) is int and key == 0:
            made, scope = self.once(f)
            self._lent = _may_change(made)
            return moved(made, scope, f.first)
        if type(key) is Position and key.scope in f.turns:
            made, scope = self.once(f)
            return moved(made, scope, key.scope)
        raise Stop("takes an entry of what there is for each sample")

    def over(self, f: Any, frame: Frame, node: Any, make: Any) -> "Each":
        """A comprehension over it."""
        return f.comprehension(self, frame, node, make)  # type: ignore[no-any-return]

    def loop(self, f: Any, frame: Frame, node: Any) -> bool:
        """A statement `for` over it."""
        f.loop(self, frame, node)
        return True

    def lazy(self, f: Any) -> "Each":
        """What it is as an iterator."""
        made, scope = self.once(f)
        return Each(ITERATOR, made, scope)


def _may_change(value: Any) -> bool:
    """Whether there is a list or dict of the code's own in it."""
    return type(value) in (list, dict) or type(value) is tuple and any(map(_may_change, value))


class AfterFirst(Special):
    """each[1:]"""

    called = "the samples after the first"

    def __init__(self, each: Each) -> None:
        self._each = each

    def loop(self, f: Any, frame: Frame, node: Any) -> bool:
        f.loop(self._each, frame, node, Rest)
        return True


class Position(OfSample):
    """The number of the sample in the batch."""

    called = "the number of a sample"

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def moved(self, after: Scope) -> "Position":
        return Position(after)


class Grown(Each):
    """A list that the code makes empty, and to which a loop over samples adds."""

    def __init__(self) -> None:
        super().__init__(list, None, Scope())
        self._full = False

    def attribute(self, f: Any, of: str) -> Any:
        if of != "append":
            return super().attribute(f, of)
        return _Append(self)

    def append(self, f: Any, value: Any) -> None:
        if self._full or len(f.turns) != 1 or type(f.turns[0]) is not Scope or f.functions:
            raise Stop("appends to a list otherwise than once for each sample")
        self._full, self.of, self.scope = True, value, f.turns[-1]

    def once(self, f: Any, turn: type[Scope] = Scope) -> tuple[Any, Scope]:
        if not self._full or self.scope in f.turns:
            raise Stop("uses a list to which the samples were not added")
        return super().once(f, turn)


class _Append(Special):
    called = "list.append"

    def __init__(self, grown: Grown) -> None:
        self._grown = grown

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> None:
        if len(args) != 1 or named:
            raise Stop("calls list.append with arguments that do not fit")
        self._grown.append(f, args[0])


class Joined(Special):
    """A part of the batch: `form`, as native/batch_form.py says it."""

    called = "a tensor of all samples"

    def __init__(self, form: Any) -> None:
        self.form = form


class Spent(Special):
    """A name that a loop over samples has set, after the loop."""

    called = "what the last sample left"


def moved(value: Any, before: Scope, after: Scope) -> Any:
    """The value of another turn. Containers are the code's own, so they are copied."""
    if isinstance(value, OfSample):
        if value.scope is None:
            return value
        if value.scope is not before:
            raise Stop("uses a sample outside of its turn")
        return value.moved(after)
    if type(value) in (list, tuple):
        return type(value)(moved(one, before, after) for one in value)
    if type(value) is dict:
        return {key: moved(one, before, after) for key, one in value.items()}
    if is_constant(value):
        return value
    raise Stop(f"makes {name(value)} for each sample")
