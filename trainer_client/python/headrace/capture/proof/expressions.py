"""Expressions, one function for each kind. A kind that is not here is not understood."""

import ast
import types
from collections.abc import Callable
from typing import Any

from . import attributes, contents, items
from .contents import format_all, hash_all
from .frames import Frame
from .interpreter import Interpreter
from .operators import _cls, binary, compare
from .proof import Code, Doubt
from .specials import known_operand, special
from .values import (
    BOOL,
    NONE,
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
    is_scalar,
    one,
)

BOTH = frozenset((True, False))


def value(it: Interpreter, frame: Frame, node: ast.expr) -> Value:
    it.step()
    kind = _KINDS.get(type(node))
    if kind is None:
        raise Doubt(
            Code.UNKNOWN_CONSTRUCT, f"has an expression of kind {type(node).__name__}, "
            "which is not followed",
        )  # fmt: skip
    return kind(it, frame, node)


def as_load(node: ast.expr) -> ast.expr:
    """The target of an assignment, as what it is now."""
    known = _loads.get(id(node))
    if known is None or known[0] is not node:
        kind = type(node)
        same = {name: getattr(node, name) for name in node._fields} | {"ctx": ast.Load()}
        known = _loads[id(node)] = (node, ast.copy_location(kind(**same), node))
    return known[1]


_loads: dict[int, Any] = {}


# Conditions.


def condition(it: Interpreter, frame: Frame, node: ast.expr) -> Value:
    """What the condition may be: {True}, {False} or both. It is one of them where it only asks for
    what lasts, since no code that is proved changes that."""
    return truth(it, frame, value(it, frame, node))


def truth(it: Interpreter, frame: Frame, found: Value) -> Value:
    result: set[bool] = set()
    for part in it.looked_at(frame, found):
        result |= _truth(it, frame, part)
    return frozenset(result)


def _truth(it: Interpreter, frame: Frame, part: Any) -> Value:
    if type(part) is Lasting:
        if all(map(_has_plain_truth, part.objects[:24])) and len(part.objects) <= 24:
            return frozenset(bool(o) for o in part.objects)
        if part.cls in (types.FunctionType, type, types.MethodType, types.ModuleType):
            return frozenset((True,))
    if type(part) in (Method, Bound):
        return frozenset((True,))
    cls = getattr(part, "cls", None)
    if cls is not None and type(part) in (Lasting, Made):
        for name in ("__bool__", "__len__"):
            found = special(it, frame, part, name)
            if found is not None:
                return BOTH
        if type(part) is Made and part.closure is None and part.cls not in _BY_LENGTH:
            return frozenset((True,)) if not issubclass(cls, _BY_LENGTH) else BOTH
    return BOTH


_BY_LENGTH = (list, tuple, dict, set, frozenset)


def _has_plain_truth(thing: Any) -> bool:
    kind = type(thing)
    return kind in (bool, int, float, str, bytes, type(None), list, tuple, dict, set, frozenset)


def _bool_op(it: Interpreter, frame: Frame, node: ast.BoolOp) -> Value:
    ends = isinstance(node.op, ast.Or)  # the truth by which it is decided
    result = NOTHING
    facts = None
    for position, part in enumerate(node.values):
        found = value(it, frame, part)
        facts = frame.facts if facts is None else facts & frame.facts
        frame.facts = facts  # the others may not be asked
        if position == len(node.values) - 1:
            return result | found
        truths = truth(it, frame, found)
        if ends in truths:
            result |= _with_truth(found, ends)
        if (not ends) not in truths:
            return result
    return result


def _with_truth(found: Value, wanted: bool) -> Value:
    """The parts that may have it."""
    return frozenset(
        part
        for part in found
        if not (
            type(part) is Lasting
            and len(part.objects) == 1
            and type(part.objects[0]) in (bool, int, float, str, bytes, type(None))
            and bool(part.objects[0]) is not wanted
        )
    )


def _unary(it: Interpreter, frame: Frame, node: ast.UnaryOp) -> Value:
    found = value(it, frame, node.operand)
    if isinstance(node.op, ast.Not):
        truths = truth(it, frame, found)
        return constant(not next(iter(truths))) if len(truths) == 1 else BOOL
    if (known := constant_of(found)) and type(known[0]) in (int, float):
        if isinstance(node.op, ast.USub):
            return constant(-known[0])
    name = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}[type(node.op)]
    return frozenset().union(*[_one_operand(it, frame, part, name) for part in found])


def _one_operand(it: Interpreter, frame: Frame, part: Any, name: str) -> Value:
    found = special(it, frame, part, name)
    if found is not None:
        return found
    known_operand(it, part)
    return one(Scalar(part.cls)) if is_scalar(part) else one(Abstract(_cls(part)))


def _binary(it: Interpreter, frame: Frame, node: ast.BinOp) -> Value:
    return binary(it, frame, node.op, value(it, frame, node.left), value(it, frame, node.right))


def _compare(it: Interpreter, frame: Frame, node: ast.Compare) -> Value:
    left = value(it, frame, node.left)
    result: Value | None = None
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        facts = frame.facts
        right = value(it, frame, right_node)
        if result is not None:
            frame.facts &= facts
        result = compare(it, frame, op, left, right)
        left = right
    assert result is not None
    return result if len(node.ops) == 1 else BOOL | result


# Names, attributes and items.


def _constant(it: Interpreter, frame: Frame, node: ast.Constant) -> Value:
    return constant(node.value)


def _name(it: Interpreter, frame: Frame, node: ast.Name) -> Value:
    return it.looked_at(frame, frame.find(node.id))


def _attribute(it: Interpreter, frame: Frame, node: ast.Attribute) -> Value:
    owner = value(it, frame, node.value)
    return it.looked_at(frame, attributes.get(it, frame, owner, node.attr))


def _subscript(it: Interpreter, frame: Frame, node: ast.Subscript) -> Value:
    filled = it.fills.read(it, frame, node)
    if filled is not None:
        return filled
    owner = value(it, frame, node.value)
    key = value(it, frame, node.slice)
    return it.looked_at(frame, items.take(it, frame, owner, key, node))


def _slice(it: Interpreter, frame: Frame, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            for end in value(it, frame, part):
                special(it, frame, end, "__index__")
    return one(Scalar(slice))


# What is made.


def _sequence(it: Interpreter, frame: Frame, node: Any) -> Value:
    cls = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
    made = it.make(frame, node, cls)
    elements: list[Value] | None = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            found = contents.iterate(it, frame, value(it, frame, element.value))
            elements = None
        else:
            found = value(it, frame, element)
            if elements is not None:
                elements.append(found)
        if cls is set:
            hash_all(it, frame, found)
        it.grow(made, found)
    if cls is tuple:
        it.set_elements(made, elements)
    return one(made)


def _dict(it: Interpreter, frame: Frame, node: ast.Dict) -> Value:
    made = it.make(frame, node, dict)
    for key, item in zip(node.keys, node.values, strict=True):
        found = value(it, frame, item)
        if key is None:
            it.grow(made, contents.entries(it, frame, found))
            it.grow_keys(made, contents.iterate(it, frame, found))
            continue
        named = value(it, frame, key)
        hash_all(it, frame, named)
        items.put(it, made, named, found)
    return one(made)


def _text(it: Interpreter, frame: Frame, node: ast.JoinedStr) -> Value:
    text: str | None = ""
    for part in node.values:
        found = value(it, frame, part)
        known = constant_of(found)
        plain = known and type(known[0]) in (str, int)
        text = text + str(known[0]) if text is not None and plain else None
    return constant(text) if text is not None else STR


def _formatted(it: Interpreter, frame: Frame, node: ast.FormattedValue) -> Value:
    found = value(it, frame, node.value)
    if node.format_spec is not None:
        value(it, frame, node.format_spec)
    known = constant_of(found)
    plain = known and type(known[0]) in (str, int) and node.format_spec is None
    if plain and node.conversion == -1:
        return constant(str(known[0]))
    format_all(it, frame, found)
    return STR


def _comprehension(it: Interpreter, frame: Frame, node: Any) -> Value:
    cls = {ast.ListComp: list, ast.SetComp: set, ast.DictComp: dict}.get(
        type(node), types.GeneratorType
    )
    made = it.make(frame, node, cls)
    names = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
    scope: dict[str, Value] = {}
    guards = len(frame.guards)
    for number, generator in enumerate(node.generators):
        if generator.is_async:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "has an asynchronous comprehension")
        over = value(it, frame, generator.iter)
        if number == 0:
            scope = dict.fromkeys(names, NOTHING)
            frame.comprehensions.append(scope)
        it.rules.assign(it, frame, generator.target, contents.iterate(it, frame, over))
        for test in generator.ifs:
            condition(it, frame, test)
            frame.guards += items.guard_of(test, None)
    facts = frame.facts
    # Twice: what an assignment expression binds is seen by the next round.
    for _ in range(2):
        if cls is dict:
            named = value(it, frame, node.key)
            hash_all(it, frame, named)
            it.grow_keys(made, named)
            it.grow(made, value(it, frame, node.value))
        else:
            it.grow(made, value(it, frame, node.elt))
        if not it.assigns_inside(node):
            break
        it.version += 1
        for generator in node.generators:
            for test in generator.ifs:
                condition(it, frame, test)
    frame.facts &= facts
    del frame.guards[guards:]
    frame.comprehensions.pop()
    return one(made)


def closure(it: Interpreter, frame: Frame, node: Any) -> Made:
    """A function that the read code makes."""
    made = it.make(frame, node, types.FunctionType)
    snapshot: dict[str, Value] = {}
    for scope in [*frame.comprehensions]:
        snapshot.update(scope)
    given = node.args
    defaults = [value(it, frame, d) for d in given.defaults]
    named = {
        a.arg: value(it, frame, d)
        for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if d is not None
    }
    made.closure = (node, frame, {**frame.snapshot, **snapshot}, defaults, named)
    return made


def _lambda(it: Interpreter, frame: Frame, node: ast.Lambda) -> Value:
    return one(closure(it, frame, node))


def _if_expression(it: Interpreter, frame: Frame, node: ast.IfExp) -> Value:
    truths = condition(it, frame, node.test)
    result = NOTHING
    guards = items.guard_of(node.test, None)
    facts = frame.facts
    if True in truths:
        frame.guards += guards
        result |= value(it, frame, node.body)
        del frame.guards[len(frame.guards) - len(guards) :]
    if False in truths:
        result |= value(it, frame, node.orelse)
    frame.facts &= facts
    return result


def _walrus(it: Interpreter, frame: Frame, node: ast.NamedExpr) -> Value:
    found = value(it, frame, node.value)
    # It may stand where it is not always asked: what the name was counts as well.
    before = frame.find(node.target.id)
    if frame.bind(node.target.id, found | before):
        it.version += 1
    return found


def _call(it: Interpreter, frame: Frame, node: ast.Call) -> Value:
    return it.looked_at(frame, it.rules.call(it, frame, node))


def _yield(it: Interpreter, frame: Frame, node: ast.Yield) -> Value:
    if node.value is not None:
        frame.yields |= value(it, frame, node.value)
    return NONE


def _yield_from(it: Interpreter, frame: Frame, node: ast.YieldFrom) -> Value:
    frame.yields |= contents.iterate(it, frame, value(it, frame, node.value))
    return NONE


def _starred(it: Interpreter, frame: Frame, node: ast.Starred) -> Value:
    return contents.iterate(it, frame, value(it, frame, node.value))


_KINDS: dict[type[ast.expr], Callable[[Interpreter, Frame, Any], Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute,
    ast.Subscript: _subscript, ast.Slice: _slice, ast.List: _sequence, ast.Tuple: _sequence,
    ast.Set: _sequence, ast.Dict: _dict, ast.JoinedStr: _text, ast.FormattedValue: _formatted,
    ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.Lambda: _lambda, ast.IfExp: _if_expression,
    ast.NamedExpr: _walrus, ast.Call: _call, ast.Yield: _yield, ast.YieldFrom: _yield_from,
    ast.BoolOp: _bool_op, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.Compare: _compare,
    ast.Starred: _starred,
}  # fmt: skip
