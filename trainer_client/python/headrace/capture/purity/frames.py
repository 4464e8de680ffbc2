"""One function while it is read, and what its parameters stand for."""

import types
from typing import Any

from .values import FRESH, Value, is_immutable, joined


class Frame:
    def __init__(self, function: types.FunctionType | None, names: dict[str, Value], where: str):
        self.function = function
        self.names = names
        self.where = where
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.returns: list[Value] = []

    @property
    def code(self) -> types.CodeType | None:
        return getattr(self.function, "__code__", None)

    @property
    def own_names(self) -> set[str]:
        return set(self.code.co_cellvars) | set(self.code.co_varnames) if self.code else set()

    @property
    def me(self) -> tuple[str, Value]:
        """The first parameter: the method's object."""
        name = self.code.co_varnames[0] if self.code and self.code.co_argcount else ""
        return name, self.names.get(name, FRESH)


def bind(function: types.FunctionType, args: list[Value], named: dict[str, Value]) -> dict:
    """The function's parameters as it is called."""
    code = function.__code__
    count = code.co_argcount
    parameters = code.co_varnames[: count + code.co_kwonlyargcount]
    bound = dict.fromkeys(parameters, FRESH)
    defaults = function.__defaults__ or ()
    for name, default in zip(parameters[count - len(defaults) : count], defaults, strict=False):
        bound[name] = _default(name, default)
    for name, default in (function.__kwdefaults__ or {}).items():
        bound[name] = _default(name, default)
    bound.update(zip(parameters[:count], args, strict=False))
    bound.update({name: value for name, value in named.items() if name in bound})
    rest = code.co_varnames[len(parameters) : len(parameters) + 2]
    if rest and len(args) > count:
        bound[rest[0]] = joined(args[count:])
    return bound


def _default(name: str, default: Any) -> Value:
    return FRESH if is_immutable(default) else Value(f"default of {name}", (default,))
