"""Whether a library may be given a value: it then asks nothing of the program's own code, except
for functions, which are found."""

import collections
import functools
import logging
import types
from typing import Any

import numpy as np

from .frames import Frame
from .interpreter import Interpreter
from .lookup import MISSING, lookup
from .proof import Code, Doubt
from .values import (
    _IMMUTABLE,
    CONTAINERS,
    NOTHING,
    Abstract,
    Bound,
    Lasting,
    Made,
    Method,
    Scalar,
    Value,
    describe,
    is_immutable,
    is_scalar,
    live,
    one,
)

# Special methods that no library asks for while it reads a value.
INERT = {
    "__init__", "__post_init__", "__repr__", "__str__", "__eq__", "__hash__", "__init_subclass__",
    "__class_getitem__", "__set_name__", "__call__", "__lt__", "__getitem__", "__len__",
    "__setattr__", "__delattr__", "__match_args__", "__replace__", "__new__", "__getnewargs__",
    "__annotate__", "__annotate_func__",
}  # fmt: skip
_FUNCTIONS = (
    types.FunctionType, types.MethodType, functools.partial, types.BuiltinFunctionType,
    functools._lru_cache_wrapper,
)  # fmt: skip


def plain(it: Interpreter, value: Value, own: Any = False) -> list[Any]:
    """The parts in it that can be called and are not known. Raises Doubt where it is not plain.
    own: it may hold objects of the program's classes, since they do not come back from there;
    "compared": nothing is done with them but to compare them."""
    code: list[Any] = []
    seen: set[int] = set()
    asked: list[Any] = []  # objects of the program's own, and special methods that are asked
    met: set[Any] = set()
    todo = list(value)
    while todo:
        part = todo.pop()
        met.add(part)
        kind = type(part)
        if kind in (Scalar, Abstract) or is_scalar(part):
            continue
        if kind in (Method, Bound):
            code.append(part)
            continue
        if kind is Made:
            if id(part) in seen:
                continue
            seen.add(id(part))
            if part.closure is not None or part.cls is functools.partial:
                code.append(part)
                continue
            if part.cls not in CONTAINERS and not _is_iterator(part.cls):
                _check_class(it, part, part.cls, own, asked)
                if lookup(part.cls, "__call__") is not MISSING:
                    code.append(part)
            todo += [p for v in part.fields.values() if isinstance(v, frozenset) for p in v]
            todo += [*part.items, *part.keys]
            continue
        for thing in part.objects:
            _live(it, thing, part, code, seen, own, asked)
    others = frozenset(met) | {part for part, _ in asked}
    for part, name in asked:
        it.follow_later(part, name, others)
    return code


def _is_iterator(cls: type) -> bool:
    return cls in (types.GeneratorType, zip, map, filter, enumerate, reversed)


def _live(it: Interpreter, root: Any, part: Lasting, code: list[Any], seen: set[int],
          own: Any, asked: list[Any]) -> None:  # fmt: skip
    if (id(root), own) in it.plain_things:
        code += it.plain_things[id(root), own]
        return
    mine: list[Any] = []
    todo = [root]
    while todo:
        thing = todo.pop()
        if id(thing) in seen or is_immutable(thing):
            continue
        seen.add(id(thing))
        it.budget.spend(1)
        kind = type(thing)
        if kind in CONTAINERS:
            it.looked_at(None, one(live(thing, part.path)))
            it.budget.spend(len(thing))
            inner = thing
            if isinstance(thing, dict):
                if not set(map(type, thing.keys())) <= _IMMUTABLE:
                    todo += thing.keys()
                inner = thing.values()
            if kind is collections.defaultdict and thing.default_factory is not None:
                todo.append(thing.default_factory)
            if not set(map(type, inner)) <= _IMMUTABLE:
                todo += inner
        elif isinstance(thing, np.ndarray) and thing.dtype.hasobject:
            todo += thing.ravel().tolist()
        elif kind in it.known.value_classes or isinstance(thing, logging.Logger):
            continue
        elif isinstance(thing, _FUNCTIONS):
            if it.known.of(thing) is None:
                mine.append(live(thing, part.path))
        elif isinstance(thing, type):
            if it.known.of(thing) is None and it.known.is_own(thing):
                mine.append(live(thing, part.path))
        elif isinstance(thing, types.ModuleType):
            raise Doubt(Code.UNKNOWN_CALL, f"gives the module {thing.__name__} to a library")
        elif it.is_generator(thing):
            it.check_generator(thing, part)
        else:
            holder = live(thing, part.path)
            if it.known.instance(holder) is not None:
                todo += vars(thing).values() if hasattr(thing, "__dict__") else ()
                continue
            _check_class(it, holder, kind, own, asked)
            if lookup(kind, "__call__") is not MISSING:
                mine.append(holder)
            todo += getattr(thing, "__dict__", {}).values()
    it.plain_things[id(root), own] = mine
    it.kept.append(root)
    code += mine


def _check_class(it: Interpreter, part: Any, cls: type, own: Any, asked: list[Any]) -> None:
    """An object of the program's own that a library only hands on, or prints."""
    if not own and not _is_record(cls):
        text = f"gives {describe(part)}, of class {cls.__qualname__}, to a library"
        raise Doubt(Code.UNKNOWN_CALL, text)
    for base in cls.__mro__:
        if base is object or base in CONTAINERS or base.__module__ in ("typing", "abc"):
            continue
        if not base.__flags__ & (1 << 9):  # not a class of Python
            if base not in (int, float, str, bytes, BaseException, Exception):
                raise Doubt(
                    Code.UNKNOWN_CALL, f"gives {describe(part)}, of class {cls.__qualname__}, to a "
                    "library",
                )  # fmt: skip
            continue
        for name, found in vars(base).items():
            if not (name.startswith("__") and name.endswith("__")):
                continue
            if isinstance(found, types.FunctionType) and name not in INERT and own != "compared":
                text = f"gives {describe(part)}, whose class has {name}, to a library"
                raise Doubt(Code.UNKNOWN_CALL, text)
            if name in ("__eq__", "__lt__", "__str__", "__repr__", "__getitem__", "__len__",
                        "__hash__") and isinstance(found, types.FunctionType):  # fmt: skip
                if found.__code__.co_filename != "<string>":
                    asked.append((part, name))


def _is_record(cls: type) -> bool:
    """A named tuple, with the methods that its maker wrote."""
    if not issubclass(cls, tuple) or not hasattr(cls, "_fields") or cls.__mro__[1] is not tuple:
        return False
    made = ("__new__", "__repr__", "_asdict", "_replace", "_make", "__getnewargs__", "__replace__")
    functions = {n for n, f in vars(cls).items() if isinstance(f, types.FunctionType)}
    return functions <= set(made)


def plain_content(it: Interpreter, frame: Frame, value: Value) -> None:
    """Nothing of the program's own is asked when its entries are compared. Raises Doubt."""
    plain(it, value, own="compared")


def check_array(it: Interpreter, part: Any) -> None:
    """The objects in an array of objects, or in a table, are plain data."""
    if type(part) is not Lasting:
        return
    for thing in part.objects:
        held: list[Any] = []
        if isinstance(thing, np.ndarray) and thing.dtype.hasobject:
            held = [thing.ravel().tolist()]
        elif part.cls.__module__.startswith("pandas") and hasattr(thing, "to_numpy"):
            columns = [thing[c] for c in thing.columns] if hasattr(thing, "columns") else [thing]
            held = [c.tolist() for c in columns if str(c.dtype) == "object"]
        if held and (id(thing), "array") not in it.content:
            it.content[id(thing), "array"] = NOTHING
            it.kept.append(held)
            if plain(it, one(live(held, describe(part)))):
                raise Doubt(Code.UNKNOWN_CALL, f"uses {describe(part)}, which holds functions")
