"""Whose a value is that code names: Python's, a library's or the program's."""

import functools
import types
from typing import Any

import numpy as np

from .content_values import ADD
from .reach_parts import is_own_class, is_own_code, is_own_module

MISSING: Any = object()


def is_pythons(value: Any) -> bool:
    """Whether a builtin is what Python has there, and not what the program has put in its place."""
    kind = type(value)
    return kind is types.BuiltinFunctionType or kind in ADD or (
        kind is type and value.__module__ == "builtins")  # fmt: skip


def is_library(value: Any) -> bool:
    """Code of a library, which is known by the name it has there."""
    if isinstance(value, types.FunctionType):
        return not is_own_code(value.__code__) and not value.__closure__
    if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType):
        return not is_own_code(value.__func__.__code__)
    if isinstance(value, type):
        return not is_own_class(value)
    if isinstance(value, types.ModuleType):
        return not is_own_module(value)
    return (
        callable(value) and not is_own_class(type(value)) and type(value) is not functools.partial
    )


class _Plain:
    """As large as an object without memory of its own."""


def is_simple(kind: type) -> bool:
    """Whether objects of the class are their attributes, and nothing else."""
    return kind.__basicsize__ <= _Plain.__basicsize__ and not kind.__itemsize__


def has_attributes(value: Any) -> bool:
    """Whether an object is what its `__dict__` holds, and looks attributes up as objects do."""
    kind: Any = type(value)
    if kind in ADD or not _is_of_attributes(kind, kind.__mro__):
        return False
    if kind.__getattribute__ is not object.__getattribute__:
        return False
    try:
        return type(object.__getattribute__(value, "__dict__")) is dict
    except AttributeError:
        return False


_of_attributes: dict[
    int, tuple[Any, Any, bool]
] = {}  # classes, by id(), with their orders of bases
_MOST_CLASSES = 1024


def _is_of_attributes(kind: Any, order: tuple[type, ...]) -> bool:
    known = _of_attributes.get(id(kind))
    if known is not None and known[0] is kind and known[1] is order:
        return known[2]
    if len(_of_attributes) >= _MOST_CLASSES:
        _of_attributes.clear()
    plain = is_simple(kind) and not issubclass(kind, type)
    plain = plain and all(base is object or base.__flags__ & (1 << 9) for base in order)
    _of_attributes[id(kind)] = kind, order, plain
    return plain


def in_class(kind: type, name: str) -> Any:
    """An attribute of a class as it is stored."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return MISSING


def item_of(value: Any, key: Any) -> Any:
    try:
        if type(value) in (list, tuple) and type(key) is int:
            return value[key]
        if type(value) is dict and type(key) in (int, str):
            return value.get(key, MISSING)
        if type(value) is np.ndarray and type(key) is int and not value.dtype.hasobject:
            return value[key]
    except IndexError:
        pass
    return MISSING
