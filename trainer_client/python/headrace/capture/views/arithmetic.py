"""left + right and its like in followed code: of numbers, texts, lists and tuples that are known."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from . import sizes
from .containers import check_size
from .follower import Follower
from .values import Stop, is_sequence, name

_MOST = 1 << 31  # of the numbers that are counted with
_NUMBERS = (int, bool, float)
_ARITHMETIC: dict[type, Callable[[float, float], float]] = {
    ast.Div: operator.truediv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def combine(f: Follower, kind: type, left: Any, right: Any) -> Any:
    """left `kind` right, of numbers, texts, lists and tuples."""
    known = f.combine(kind, left, right)
    known = sizes.combine(kind, left, right) if known is None else known
    if known is not None:
        return known
    rule = _ARITHMETIC.get(kind)
    if rule is not None and type(left) in _NUMBERS and type(right) in _NUMBERS:
        try:
            found = rule(left, right)
        except ArithmeticError as error:  # the code would raise it for each sample
            raise Stop(f"computes with {name(left)} and {name(right)}: {error}") from None
        if abs(found) < _MOST:  # neither infinite nor NaN
            return found
    elif kind is ast.Add and type(left) is str and type(right) is str:
        return check_size(left + right)
    elif kind is ast.Add and is_sequence(left) and is_sequence(right):
        one, other = f.items(left), f.items(right)
        if type(one) is type(other):
            return check_size(one + other)
    elif kind is ast.Mult and is_sequence(left) and type(right) is int:
        items = f.items(left)
        check_size(range(len(items) * right))
        return items * right
    raise Stop(f"computes with {name(left)} and {name(right)}")
