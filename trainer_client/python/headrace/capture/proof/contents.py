"""What is in a container, and what is asked of it there."""

import collections
import types
from typing import Any

import torch

from .arguments import Arguments
from .frames import Frame
from .interpreter import Interpreter
from .plain import check_array
from .proof import Code, Doubt
from .specials import special, special_function
from .values import (
    ANY_SCALAR,
    FRESH,
    INT,
    MAPPINGS,
    NOTHING,
    STR,
    Abstract,
    Lasting,
    Made,
    Scalar,
    Value,
    base_of,
    describe,
    is_container,
    is_scalar,
    maps,
    one,
    values_of,
)

_ITERATORS = (
    types.GeneratorType, zip, map, filter, enumerate, reversed,
)  # fmt: skip


def iterate(it: Interpreter, frame: Frame, value: Value, quietly: bool = False) -> Value:
    """Each of what `for x in value` binds. quietly: of a pattern, which asks only sequences."""
    return frozenset().union(*[each_of(it, frame, part, quietly) for part in value])


def each_of(it: Interpreter, frame: Frame, part: Any, quietly: bool) -> Value:
    kind = type(part)
    if kind is Scalar:
        return STR if part.cls is str else INT if part.cls in (bytes, range) else ANY_SCALAR
    if kind is Abstract:
        return _of_abstract(it, part)
    if kind is Made:
        if part.closure is not None:
            return NOTHING
        base = base_of(part.cls)
        if base is None and part.cls not in _ITERATORS:
            return _of_own(it, frame, part, quietly)
        if special_function(part, "__iter__") is not None:
            return _of_own(it, frame, part, quietly)
        if part.lasting and part.cls in _ITERATORS:
            it.writes(part, "moves on in an iterator")
        inner: Value = part.keys if base is not None and issubclass(base, MAPPINGS) else part.items
        return inner
    if kind is Lasting:
        it.looked_at(frame, one(part))
        if is_scalar(part):
            return each_of(it, frame, Scalar(part.cls), quietly)
        base = base_of(part.cls)
        if base is not None and special_function(part, "__iter__") is None:
            return of_live(it, part, issubclass(base, MAPPINGS))
        if part.cls in it.known.arrays:
            check_array(it, part)
            return one(Abstract(part.cls, True, part.path))
        return _of_own(it, frame, part, quietly)
    return NOTHING  # a method, which nobody can go through


def _of_abstract(it: Interpreter, part: Abstract) -> Value:
    if part.cls is not None and part.lasting and issubclass(part.cls, collections.abc.Iterator):
        it.writes(part, "moves on in an iterator")
    return frozenset((Abstract(part.cls if part.cls in it.known.arrays else None, part.lasting,
                               part.path), Scalar()))  # fmt: skip


def of_live(it: Interpreter, part: Lasting, keys: bool) -> Value:
    known = it.content.get((part.key, keys))
    if known is None:
        things: list[Any] = []
        for container in part.objects:
            it.budget.spend(len(container))
            things += container.keys() if keys else container
        known = values_of(things, (part.key, "items", keys), f"{part.path}[...]")
        it.content[part.key, keys] = known
    return known


def _of_own(it: Interpreter, frame: Frame, part: Any, quietly: bool) -> Value:
    """The items that its __iter__ and __next__, or its __getitem__, give."""
    found = special(it, frame, part, "__iter__")
    if found is not None:
        result = NOTHING
        for iterator in found:
            moved = special(it, frame, iterator, "__next__")
            result |= each_of(it, frame, iterator, quietly) if moved is None else moved
        return result
    found = special(it, frame, part, "__getitem__", [INT])
    if found is not None:
        special(it, frame, part, "__len__")
        return found
    children = library_children(it, part)
    if children is not None:
        return children
    if quietly:
        return NOTHING
    what = f"goes through {describe(part)}, whose class {part.cls.__qualname__} is not known"
    raise Doubt(Code.UNKNOWN_CALL, what)


def entries(it: Interpreter, frame: Frame, value: Value) -> Value:
    """The values of mappings."""
    result = NOTHING
    for part in it.looked_at(frame, value):
        base = base_of(getattr(part, "cls", None))
        if type(part) is Made and base is not None:
            result |= part.items
        elif type(part) is Lasting and base is not None and issubclass(base, MAPPINGS):
            known = it.content.get((part.key, "values"))
            if known is None:
                things = []
                for container in part.objects:
                    it.budget.spend(len(container))
                    things += container.values()
                known = values_of(things, (part.key, "values"), f"{part.path}[...]")
                it.content[part.key, "values"] = known
            result |= known
        elif type(part) is Abstract:
            result |= frozenset((Abstract(None, part.lasting, part.path), Scalar()))
        elif type(part) is Scalar or is_scalar(part):
            result |= ANY_SCALAR
        elif base is None:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"takes the entries of {describe(part)}")
    return result


def library_children(it: Interpreter, part: Any) -> Value | None:
    """What iterating an object of torch gives that holds modules."""
    if type(part) is Lasting and issubclass(part.cls, torch.nn.Sequential | torch.nn.ModuleList):
        things = [m for o in part.objects for m in o._modules.values()]
        return values_of(things, (part.key, "modules"), f"{part.path}[...]")
    return None


def hash_all(it: Interpreter, frame: Frame, value: Value) -> None:
    """The keys are asked for their hash, and compared."""
    for part in value:
        if type(part) in (Lasting, Made) and not is_scalar(part):
            if is_container(part):
                hash_all(it, frame, iterate(it, frame, one(part)))
            else:
                special(it, frame, part, "__hash__")
                special(it, frame, part, "__eq__", [value])


def format_all(it: Interpreter, frame: Frame, value: Value) -> None:
    for part in value:
        if type(part) not in (Lasting, Made) or is_scalar(part):
            continue
        if is_container(part):
            format_all(it, frame, iterate(it, frame, one(part)))
            format_all(it, frame, entries(it, frame, one(part)) if maps(part) else NOTHING)
            continue
        if isinstance(part.cls, type) and issubclass(part.cls, torch.nn.Module):
            continue
        for name in ("__format__", "__str__", "__repr__"):
            special(it, frame, part, name, [STR] if name == "__format__" else [])


def call_any(it: Interpreter, frame: Frame, code: list[Any], given: Value) -> Value:
    """Functions that a library is given: called with anything that it has."""
    result = NOTHING
    inner = given
    for part in given:
        if is_container(part):
            inner |= iterate(it, frame, one(part))
            if maps(part):
                inner |= entries(it, frame, one(part))
    inner = frozenset(p for p in inner if p not in code) | FRESH | ANY_SCALAR
    for part in code:
        result |= it.rules.apply(it, frame, one(part), Arguments(rest=inner))
    return result
