"""What a comparison of two values holds, where that is no code of anybody's."""

import ast
import operator
from collections.abc import Callable
from typing import Any

from .values import Special, Stop, is_constant, name

ORDER: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def holds(op: ast.cmpop, left: Any, right: Any) -> bool:
    if isinstance(op, ast.Is | ast.IsNot):
        if left is not None and right is not None:
            raise Stop(f"asks whether {name(left)} is {name(right)}")
        none = all(
            one.is_none() if isinstance(one, Special) else one is None for one in (left, right)
        )
        return none is isinstance(op, ast.Is)
    rule = ORDER.get(type(op))
    if rule is None or not is_constant(left) or not is_constant(right):
        raise Stop(f"compares {name(left)} and {name(right)}")
    try:
        return rule(left, right)
    except TypeError as error:
        raise Stop(f"raises TypeError: {error}") from None
