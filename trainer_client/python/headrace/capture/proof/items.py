"""Containers: what their entries are, and what is put into them."""

import ast
import collections
import enum
from typing import Any

import numpy as np

from . import contents
from .arguments import Arguments
from .contents import hash_all
from .frames import Frame
from .interpreter import Interpreter
from .plain import check_array, plain, plain_content
from .proof import Code, Doubt
from .specials import known_operands, special, special_function
from .values import (
    ANY_SCALAR,
    FRESH,
    MAPPINGS,
    NOTHING,
    STR,
    Abstract,
    Lasting,
    Made,
    Method,
    Scalar,
    Value,
    Vector,
    base_of,
    constant_of,
    describe,
    holds_lasting,
    is_container,
    is_scalar,
    one,
    values_of,
)


def changes_in_place(part: Any) -> bool:
    """Whether `x += y` changes x where it is."""
    if type(part) is Abstract:
        return True
    base = base_of(getattr(part, "cls", None))
    return base not in (tuple, frozenset) and type(part) is Lasting


def take(it: Interpreter, frame: Frame, owner: Value, key: Value, node: Any) -> Value:
    """owner[key]"""
    return frozenset().union(*[_take(it, frame, part, key, node) for part in owner])


def _take(it: Interpreter, frame: Frame, part: Any, key: Value, node: Any) -> Value:
    kind = type(part)
    it.looked_at(frame, one(part))
    if kind is Scalar or is_scalar(part):
        known_operands(it, key)
        return STR if part.cls is str else ANY_SCALAR
    found = special(it, frame, part, "__getitem__", [key])
    if found is not None:
        return found
    if kind is Abstract:
        return _take_abstract(it, part, key, node)
    base = base_of(part.cls) if kind in (Lasting, Made) else None
    if base is None:
        return _take_other(it, frame, part, key, node)
    if issubclass(base, MAPPINGS):
        hash_all(it, frame, key)
        if kind is Lasting and base is collections.defaultdict:
            check_default(it, frame, part, node)
        missing = special(it, frame, part, "__missing__", [key]) or NOTHING
        return _entry(it, frame, part, key) | missing
    for k in key:
        special(it, frame, k, "__index__")
    sliced = all(getattr(k, "cls", None) is slice for k in key) and key
    if kind is Made:
        items: Value = part.items
        if part.elements is not None and (known := constant_of(key)):
            if type(known[0]) is int and -len(part.elements) <= known[0] < len(part.elements):
                element: Value = part.elements[known[0]]
                return element
        if sliced:
            return _copy_of(it, frame, node, part.cls, items)
        if any(getattr(k, "cls", None) in (slice, None) for k in key):
            return items | _copy_of(it, frame, node, part.cls, items)
        return items
    known = constant_of(key)
    if known and type(known[0]) is int and len(part.objects) <= 24:
        things = [o[known[0]] for o in part.objects if -len(o) <= known[0] < len(o)]
        return values_of(things, (part.key, known[0]), f"{part.path}[{known[0]}]")
    each = contents.of_live(it, part, False)
    if sliced:
        return _copy_of(it, frame, node, base, each)
    if any(getattr(k, "cls", None) in (slice, None) for k in key):
        return each | _copy_of(it, frame, node, base, each)
    return each


def _copy_of(it: Interpreter, frame: Frame, node: Any, cls: type, each: Value) -> Value:
    made = it.make(frame, (id(node), "copy"), cls if cls in (list, tuple) else list)
    it.grow(made, each)
    return one(made)


def _entry(it: Interpreter, frame: Frame, part: Any, key: Value) -> Value:
    known = constant_of(key)
    if type(part) is Made:
        if known and ("key", known[0]) in part.fields:
            named: Value = part.fields["key", known[0]]
            others: Value = part.fields.get("other entries", NOTHING)
            return named | others
        return part.items
    if known and len(part.objects) <= 24:
        things = [o[known[0]] for o in part.objects if known[0] in o]
        path = f"{part.path}[{known[0]!r}]"
        return values_of(things, (part.key, "entry", known[0]), path)
    if known:
        it.budget.spend(len(part.objects))
        things = [o[known[0]] for o in part.objects if known[0] in o]
        return values_of(things, (part.key, "entry", known[0]), f"{part.path}[{known[0]!r}]")
    return contents.entries(it, frame, one(part))


def _take_abstract(it: Interpreter, part: Abstract, key: Value, node: Any) -> Value:
    known_operands(it, key)
    if part.cls in it.known.arrays:
        if part.lasting and _copies(key, getattr(node, "slice", None)):
            return frozenset((Abstract(part.cls), Scalar()))
        cls = np.ndarray if part.cls is Vector else part.cls
        return frozenset((Abstract(cls, part.lasting, part.path), Scalar()))
    return frozenset((Abstract(None, part.lasting, part.path), Scalar()))


def _copies(key: Value, node: Any) -> bool:
    """Whether indexing an array by this makes a copy: a list, or an array, of indices is in it."""
    if isinstance(node, ast.Tuple) and any(
        isinstance(n, ast.List | ast.ListComp) for n in node.elts
    ):
        return True
    return bool(key) and all(map(_is_vector, key))


def _is_vector(part: Any) -> bool:
    if type(part) is Made and part.elements is not None:
        return any(e and all(map(_is_vector, e)) for e in part.elements)
    return getattr(part, "cls", None) in (Vector, list)


def _take_other(it: Interpreter, frame: Frame, part: Any, key: Value, node: Any) -> Value:
    if type(part) is Lasting and isinstance(part.objects[0], type):
        cls = part.objects[0]
        if isinstance(cls, enum.EnumMeta):
            return one(part) if not len(cls) else values_of(list(cls), cls, cls.__name__)
        if special_function(part, "__class_getitem__", of_class=True) is not None:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"takes {cls.__qualname__}[...]")
        if cls.__module__ in ("builtins", "collections", "typing"):
            return one(part)
    if type(part) is Lasting and part.cls in it.known.arrays:
        check_array(it, part)
        known_operands(it, key)
        if _copies(key, getattr(node, "slice", None)):
            return frozenset((Abstract(part.cls), Scalar()))
        return frozenset((Abstract(part.cls, True, part.path), Scalar()))
    return it.rules.call_method(it, frame, part, "__getitem__", Arguments([key]))


def check_default(it: Interpreter, frame: Frame, part: Lasting, node: Any) -> None:
    """A defaultdict makes the entry that it is asked for, unless somebody looked before."""
    asked = getattr(node, "slice", None)
    if asked is not None:
        guard = (ast.dump(asked), ast.dump(node.value))
        if guard in frame.guards:
            return
    if all(o.default_factory is None for o in part.objects):
        return
    it.writes(part, "asks a defaultdict, which makes entries, for")


def guard_of(test: ast.expr, body: list[ast.stmt] | None) -> list[tuple[str, str]]:
    """`key in mapping`, where what follows binds none of the names in it."""
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    found = []
    for part in tests:
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.In):
            names = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
            bound = {
                n.id
                for statement in body or ()
                for n in ast.walk(statement)
                if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
            }
            if not names & bound:
                found.append((ast.dump(part.left), ast.dump(part.comparators[0])))
    return found


def contains(it: Interpreter, frame: Frame, left: Value, right: Value) -> bool | None:
    """left in right, where it is sure."""
    known = constant_of(left)
    for part in it.looked_at(frame, right):
        found = special(it, frame, part, "__contains__", [left])
        if found is None and type(part) in (Lasting, Made) and not is_scalar(part):
            if base_of(part.cls) is None:
                if part.cls not in it.known.arrays:
                    contents.each_of(it, frame, part, False)
            else:
                plain_content(it, frame, left | one(part))
    plain_content(it, frame, left)
    if known and len(right) == 1:
        (part,) = right
        if type(part) is Lasting and len(part.objects) == 1:
            if type(part.objects[0]) in (dict, set, frozenset, list, tuple, str):
                try:
                    return known[0] in part.objects[0]
                except TypeError:
                    return None
    return None


# What is put into it.


def put(it: Interpreter, made: Made, key: Value, value: Value) -> None:
    """made[key] = value, of a dict."""
    known = constant_of(key)
    it.grow(made, value, at=("key", known[0]) if known else "other entries")
    it.grow_keys(made, key)


def store(it: Interpreter, frame: Frame, owner: Value, key: Value, value: Value) -> None:
    """owner[key] = value"""
    for part in owner:
        found = special(it, frame, part, "__setitem__", [key, value])
        if found is not None:
            continue
        it.writes_if_lasting(part)
        if type(part) is Made and base_of(part.cls) is not None:
            if issubclass(base_of(part.cls), MAPPINGS):
                hash_all(it, frame, key)
                put(it, part, key, value)
            else:
                sliced = any(getattr(k, "cls", None) is slice for k in key)
                it.grow(part, contents.iterate(it, frame, value) if sliced else value)
                it.set_elements(part, None)
        elif type(part) is Abstract:
            check_content(it, part, value)
        elif not is_scalar(part):
            raise Doubt(Code.UNKNOWN_CALL, f"sets an item of {describe(part)}")


def check_content(it: Interpreter, part: Any, value: Value) -> None:
    """Checks that an object whose content is not followed gets only values that are not followed
    either."""
    if type(part) is Abstract and part.cls in it.known.arrays:
        plain(it, value)
        return
    plain(it, value)
    if holds_lasting(value) or any(type(p) is Method or _is_made_code(p) for p in value):
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "keeps what lasts in an object that is not followed")


def _is_made_code(part: Any) -> bool:
    return type(part) is Made and part.closure is not None


def delete(it: Interpreter, frame: Frame, owner: Value, key: Value) -> None:
    for part in owner:
        if special(it, frame, part, "__delitem__", [key]) is None:
            it.writes_if_lasting(part)
            if type(part) not in (Made, Abstract) and not is_scalar(part):
                raise Doubt(Code.UNKNOWN_CALL, f"deletes an item of {describe(part)}")


def combined(it: Interpreter, frame: Frame, name: str, x: Any, y: Any) -> Value:
    """The value of `x + y`, `x * n`, `x | y`, if one is a container: a new one with the entries of
    both."""
    base = base_of(getattr(x, "cls", None)) or base_of(getattr(y, "cls", None)) or list
    array = [p for p in (x, y) if getattr(p, "cls", None) in it.known.arrays or
             type(p) is Abstract and p.cls is None]  # fmt: skip
    if array:
        plain_content(it, frame, frozenset((x, y)))
        return FRESH
    cls = base if base in (list, tuple, dict, set, frozenset) else list
    made = it.make(frame, (name, "combined", frame.line), cls)
    for part in (x, y):
        if is_container(part):
            if issubclass(base_of(part.cls), MAPPINGS):
                it.grow(made, contents.entries(it, frame, one(part)))
                it.grow_keys(made, contents.iterate(it, frame, one(part)))
            else:
                it.grow(made, contents.iterate(it, frame, one(part)))
    return one(made)
