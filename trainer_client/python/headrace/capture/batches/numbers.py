"""Numbers of a batch that are not known while a collate_fn is followed: how many samples there are, the
lengths of their tensors, and what is computed with these."""

import ast
import math
from typing import Any

from ...native.padding import RULES, Computed, Count, Extent, First, Longest, Side
from ..views.values import Stop, is_constant, name
from .values import Each, OfSample, Position, Rest, Scope

_RULES: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


class Number(OfSample):
    """`of`: how it is computed. scope: None where it is one for all samples."""

    called = "a number of the batch"

    def __init__(self, of: Extent, scope: Scope | None = None) -> None:
        self.of, self.scope = of, scope

    def moved(self, after: Scope) -> "Number":
        return Number(self.of, after)


class _Folded(Number):
    """The larger of a first sample's length and that of the sample whose turn it is."""


def is_number(value: Any) -> bool:
    return type(value) is Number or type(value) in (int, float)


def extent_of(f: Any, value: Any, turn: Scope | None = None) -> Extent:
    """How it is computed, in this turn. Raises Stop."""
    of = _of(value)
    if type(value) is not Number or value.scope is None or value.scope is turn:
        return of
    if value.scope is not f.first:
        raise Stop("uses a sample outside of its turn")
    return First(of)


def _of(value: Any) -> Extent:
    if not is_number(value):
        raise Stop(f"counts with {name(value)}")
    return value.of if type(value) is Number else value


def computed(rule: str, *parts: Any) -> Number:
    """`rule`: by its name in native/padding.py."""
    scopes = {part.scope for part in parts if type(part) is Number and part.scope is not None}
    if len(scopes) > 1:
        raise Stop("computes with lengths of two samples")
    return Number(Computed(rule, tuple(map(_of, parts))), *scopes)


def combine(kind: type, left: Any, right: Any) -> Any:
    """left `kind` right; None: it is not of such numbers."""
    rule = _RULES.get(kind)
    if rule is None or Number not in (type(left), type(right)):
        return None
    return computed(rule, left, right)


def length(f: Any, args: list[Any]) -> Number | None:
    """len(*args); None: not of what there is for each sample."""
    if len(args) != 1 or not isinstance(args[0], Each) or args[0].kind not in (list, tuple):
        return None
    args[0].once(f)  # it has all samples
    return Number(Count())


def largest(f: Any, args: list[Any]) -> Number | None:
    """max(*args); None: it is not of such numbers."""
    if len(args) == 1 and isinstance(args[0], Each):
        of, scope = args[0].once(f)
        if type(of) is not Number or of.scope is not scope:
            raise Stop(f"calls max of {name(of)} of each sample")
        return Number(Longest(of.of))
    if len(args) == 1 and type(args[0]) in (list, tuple):
        args = list(args[0])
    if not any(type(one) is Number for one in args):
        return None
    if (folded := _folded(f, args)) is not None:
        return folded
    return computed("max", *args)


def _folded(f: Any, args: list[Any]) -> Number | None:
    if len(args) != 2 or any(type(one) is not Number for one in args):
        return None
    first = [one for one in args if one.scope is f.first]
    turn = [one for one in args if type(one.scope) is Rest]
    if len(first) != 1 or len(turn) != 1 or first[0].of != turn[0].of:
        return None
    return _Folded(turn[0].of, turn[0].scope)


def fold(f: Any, owner: list[Any], key: Any, value: Any) -> None:
    """owner[key] = max(owner[key], the same of the sample), in a loop over all after the first. The
    largest of all is known when the loop ends."""
    at_turn = len(f.turns) == 1 and type(f.turns[0]) is Rest and not f.functions
    if not at_turn or type(value) is not _Folded or value.scope is not f.turns[0]:
        raise Stop("sets an entry of a list")
    before = owner[key] if type(key) is int and 0 <= key < len(owner) else None
    if type(before) is not Number or before.scope is not f.first or before.of != value.of:
        raise Stop("sets an entry of a list to the length of another entry")
    owner[key] = _Pending()

    def done() -> None:
        owner[key] = Number(Longest(value.of))

    f.folded.append(done)


class _Pending(OfSample):
    called = "the largest number of the samples so far"
    scope = Rest()  # nobody's turn


def positions(f: Any, args: list[Any]) -> Each | None:
    """range(*args); None: it is not one of all samples."""
    if len(args) != 1 or type(args[0]) is not Number or args[0].of != Count():
        return None
    scope = Scope()
    return Each(object, Position(scope), scope)


def enumerated(f: Any, args: list[Any]) -> Each | None:
    """enumerate(*args); None: not of what there is for each sample."""
    if len(args) != 1 or not isinstance(args[0], Each):
        return None
    of, scope = args[0].once(f)
    return Each(object, (Position(scope), of), scope)


def rounded(rule: str, args: list[Any], named: dict[str, Any]) -> Any:
    """int, float, math.ceil or math.floor of a number; None: not of such a one."""
    if len(args) != 1 or named or not is_number(args[0]):
        return None
    return computed(rule, args[0]) if type(args[0]) is Number else RULES[rule](args[0])


def length_along(field: int, axis: Any, rank: int, scope: Scope) -> Number:
    if not is_constant(axis) or type(axis) is not int or not -rank <= axis < rank:
        raise Stop("takes a length of a tensor that it does not have")
    return Number(Side(field, axis % rank), scope)


ROUNDING = {math.ceil: "ceil", math.floor: "floor"}
