"""Whose a value is that code names: Python's, a library's or the program's."""

import functools
import types
from typing import Any

from .content_values import ADD
from .reach_parts import is_own_class, is_own_code, is_own_module


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
