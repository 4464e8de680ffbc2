"""What a class holds under a name, and what things are called."""

import types
from typing import Any

MISSING = object()


def lookup(cls: type, name: str) -> Any:
    """What the class, or the first base that has it, holds under the name."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


def is_data(found: Any) -> bool:
    return isinstance(
        found, property | types.MemberDescriptorType | types.GetSetDescriptorType
    ) or (
        not isinstance(found, types.FunctionType | type)
        and hasattr(type(found), "__get__")
        and (hasattr(type(found), "__set__") or hasattr(type(found), "__delete__"))
    )


def full_name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or ""
    return f"{module}.{getattr(thing, '__qualname__', repr(thing))}".lstrip(".")
