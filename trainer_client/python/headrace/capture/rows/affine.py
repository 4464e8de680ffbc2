"""Numbers that are linear in the index: known for every index, without a value for each.

A file of tokens has billions of windows.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

from ...records import dataclass
from ..views.comparisons import ORDER
from ..views.values import Special, Stop, name

_MOST = 1 << 62
_EXACT: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, eq=False)
class Affine(Special):
    """scale * index + offset, for the indices from 0 to count - 1. count: at least 1."""

    scale: int
    offset: int
    count: int

    called = "what is computed of the index"

    @property
    def least(self) -> int:
        return self.offset + min(0, self.scale * (self.count - 1))

    @property
    def most(self) -> int:
        return self.offset + max(0, self.scale * (self.count - 1))

    def is_of(self, classes: tuple[type, ...]) -> bool:
        if set(classes) <= {tuple, list, dict, str}:
            return False
        return super().is_of(classes)


def combined(kind: type, left: Any, right: Any) -> Any:
    """left `kind` right, of whole numbers; None: of anything else. Raises Stop."""
    if type(left) is int and type(right) is int and kind in _EXACT:
        if kind in (ast.FloorDiv, ast.Mod) and right == 0:
            raise Stop("divides by 0")
        return _bounded(_EXACT[kind](left, right))
    if type(left) is not Affine and type(right) is not Affine:
        return None
    if not all(type(one) in (Affine, int) for one in (left, right)):
        raise Stop(f"computes with {name(left)} and {name(right)}")
    count = (left if type(left) is Affine else right).count
    one, other = (
        part if type(part) is Affine else Affine(0, part, count) for part in (left, right)
    )
    if kind in (ast.Add, ast.Sub):
        rule = _EXACT[kind]
        made = rule(one.scale, other.scale), rule(one.offset, other.offset)
    elif kind is ast.Mult and 0 in (one.scale, other.scale):
        line, by = (one, other.offset) if other.scale == 0 else (other, one.offset)
        made = line.scale * by, line.offset * by
    else:
        raise Stop("computes with the index by more than +, - and *")
    return Affine(_bounded(made[0]), _bounded(made[1]), count)


def compared(op: ast.cmpop, left: Any, right: Any) -> bool | None:
    """left `op` right, where it is the same for every index; None: neither is of the index. Raises
    Stop."""
    if type(left) is not Affine and type(right) is not Affine:
        return None
    rule = ORDER.get(type(op))
    gap = combined(ast.Sub, left, right) if rule is not None else None
    if rule is None or type(gap) is not Affine:
        raise Stop(f"compares {name(left)} and {name(right)}")
    # Whatever is true of one sign is true of all numbers of that sign.
    signs = {(one > 0) - (one < 0) for one in (gap.least, gap.most)}
    if gap.least < 0 < gap.most or (len(signs) > 1 and len({rule(sign, 0) for sign in signs}) > 1):
        raise Stop("decides by the index")
    return bool(rule(signs.pop(), 0))


def extreme(of: str, args: list[Any]) -> Any:
    """min or max of numbers, where it is the same one for every index. Raises Stop."""
    op: ast.cmpop = ast.LtE() if of == "min" else ast.GtE()
    best = args[0]
    for one in args[1:]:
        if type(best) is int and type(one) is int:
            best = min(best, one) if of == "min" else max(best, one)
        elif not compared(op, best, one):
            best = one
    return best


def _bounded(number: int) -> int:
    if abs(number) >= _MOST:
        raise Stop("computes with numbers beyond 62 bits")
    return number
