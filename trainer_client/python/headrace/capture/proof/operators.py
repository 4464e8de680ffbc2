"""Operators: arithmetic, in place, comparisons."""

import ast
from typing import Any

from . import contents, items
from .contents import format_all
from .frames import Frame
from .interpreter import Interpreter
from .specials import known_operand, special
from .values import (
    ANY_SCALAR,
    BOOL,
    NOTHING,
    STR,
    Abstract,
    Bound,
    Lasting,
    Made,
    Method,
    Scalar,
    Value,
    constant,
    constant_of,
    is_container,
    is_scalar,
    one,
)

_NAMES = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.MatMult: "matmul",
}  # fmt: skip


_COMPARISONS = {
    ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__",
    ast.GtE: "__ge__",
}  # fmt: skip


_MIRRORED = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}


def binary(it: Interpreter, frame: Frame, op: ast.operator, left: Value, right: Value) -> Value:
    a, b = constant_of(left), constant_of(right)
    if a and b and type(a[0]) is str and type(b[0]) is str and isinstance(op, ast.Add):
        return constant(a[0] + b[0])
    if isinstance(op, ast.Mod) and all(getattr(p, "cls", None) is str for p in left):
        format_all(it, frame, right)
        return STR
    name = _NAMES[type(op)]
    result = NOTHING
    for x in left:
        for y in right:
            result |= _two(it, frame, name, x, y)
    return result


def _two(it: Interpreter, frame: Frame, name: str, x: Any, y: Any) -> Value:
    if is_scalar(x) and is_scalar(y) and _plain(x) and _plain(y):
        return one(Scalar(_numeric(name, x.cls, y.cls)))
    result, own = NOTHING, False
    for part, other, method in ((x, y, f"__{name}__"), (y, x, f"__r{name}__")):
        found = special(it, frame, part, method, [one(other)])
        if found is not None:
            result, own = result | found, True
    if own:
        return result | ANY_SCALAR
    known_operand(it, x)
    known_operand(it, y)
    if is_container(x) or is_container(y):
        return items.combined(it, frame, name, x, y)
    cls = next((c for c in (_cls(x), _cls(y)) if c in it.known.arrays), None)
    return one(Abstract(cls))


def _plain(part: Any) -> bool:
    return part.cls is not None and part.cls in (int, float, bool, str, bytes, complex)


def _numeric(name: str, a: type, b: type) -> type | None:
    if a is b and a is not bool and (name != "truediv") and (name != "pow"):
        return a
    if float in (a, b) and not {a, b} - {float, int, bool}:
        return float
    if name == "truediv" and not {a, b} - {int, bool}:
        return float
    if name in ("mul", "mod") and str in (a, b):
        return str
    return int if not {a, b} - {int, bool} and name != "pow" else None


def _cls(part: Any) -> Any:
    return getattr(part, "cls", None)


def in_place(
    it: Interpreter, frame: Frame, op: ast.operator, old: Value, more: Value
) -> Value | None:
    """What `x op= more` binds x to. Changes the parts that can be changed where they are."""
    name = _NAMES[type(op)]
    result = NOTHING
    for part in old:
        if is_scalar(part):
            result |= binary(it, frame, op, one(part), more)
            continue
        found = special(it, frame, part, f"__i{name}__", [more])
        if found is not None:
            result |= found
        elif type(part) is Made and part.cls in (list, set, dict):
            if part.lasting:
                it.writes(part)
            each = contents.iterate(it, frame, more) if part.cls is not dict else more
            it.grow(part, each)
            result |= one(part)
        elif items.changes_in_place(part):
            for other in more:
                if special(it, frame, other, f"__r{name}__", [one(part)]) is None:
                    known_operand(it, other)
            it.writes_if_lasting(part)
            items.check_content(it, part, more)
            result |= one(part)
        else:
            result |= binary(it, frame, op, one(part), more)
    return result


def compare(it: Interpreter, frame: Frame, op: ast.cmpop, left: Value, right: Value) -> Value:
    if isinstance(op, ast.Is | ast.IsNot):
        return _identity(left, right, isinstance(op, ast.IsNot))
    if isinstance(op, ast.In | ast.NotIn):
        known = items.contains(it, frame, left, right)
        if known is not None:
            return constant(known is isinstance(op, ast.In))
        return BOOL
    a, b = constant_of(left), constant_of(right)
    kinds = (bool, int, float, str, type(None))
    if a and b and type(a[0]) in kinds and type(b[0]) in kinds:
        if isinstance(op, ast.Eq | ast.NotEq):
            return constant((a[0] == b[0]) is isinstance(op, ast.Eq))
        try:
            known = {ast.Lt: a[0] < b[0], ast.LtE: a[0] <= b[0], ast.Gt: a[0] > b[0],
                     ast.GtE: a[0] >= b[0]}[type(op)]  # fmt: skip
        except TypeError:
            return NOTHING
        return constant(known)
    name = _COMPARISONS[type(op)]
    result = NOTHING
    for x in left:
        for y in right:
            if is_scalar(x) and is_scalar(y):
                result |= BOOL
                continue
            found = special(it, frame, x, name, [one(y)])
            mirrored = special(it, frame, y, _MIRRORED.get(name, name), [one(x)])
            if name == "__ne__" and found is None:
                found = special(it, frame, x, "__eq__", [one(y)])
            if found is not None or mirrored is not None:
                result |= (found or NOTHING) | (mirrored or NOTHING) | BOOL
                continue
            known_operand(it, x, deep=True)
            known_operand(it, y, deep=True)
            arrays = it.known.arrays
            array = next((c for c in (_cls(x), _cls(y)) if c in arrays or c is None), int)
            result |= BOOL if array is int else one(Abstract(array)) | BOOL
    return result


def _identity(left: Value, right: Value, negated: bool) -> Value:
    if len(right) == 1:
        (other,) = right
        if type(other) is Lasting and len(other.objects) == 1:
            thing = other.objects[0]
            if thing is None or isinstance(thing, bool | type):
                truths = {_is(part, thing) for part in left}
                if len(truths) == 1 and None not in truths:
                    return constant(truths.pop() is not negated)
    return BOOL


def _is(part: Any, thing: Any) -> bool | None:
    if type(part) is Lasting:
        found = {o is thing for o in part.objects[:24]} | (
            {None} if len(part.objects) > 24 else set()
        )
        if found == {False} or found == {True}:
            return found.pop()
        return False if thing is None and part.cls is not type(None) else None
    if type(part) in (Made, Method, Bound):
        return False
    cls = _cls(part)
    if cls is None:
        return None
    return False if thing is None and cls is not type(None) else None
