"""Special methods: what Python calls by itself, for an operator, an item, a condition, a `with`."""

import contextlib
import types
from typing import Any

from ...declared import is_declared
from .frames import Frame
from .interpreter import Interpreter
from .lookup import MISSING, full_name, lookup
from .plain import check_array, plain_content
from .proof import Code, Doubt
from .values import (
    ANY_SCALAR,
    CONTAINERS,
    FRESH,
    NOTHING,
    Abstract,
    Lasting,
    Made,
    Value,
    describe,
    is_container,
    is_scalar,
    one,
)

_C_CALLABLES = (types.MethodDescriptorType, types.WrapperDescriptorType)


def special_function(part: Any, name: str, of_class: bool = False) -> Any:
    """The function of Python that the part's class has under the name."""
    cls = part.objects[0] if of_class else getattr(part, "cls", None)
    if cls is None or type(part) not in (Lasting, Made) or getattr(part, "closure", None):
        return None
    found = lookup(cls, name)
    if isinstance(found, types.FunctionType | classmethod):
        return found
    return None


def special(
    it: Interpreter, frame: Frame, part: Any, name: str, args: list[Value] | None = None
) -> Value | None:
    """What the class's own method gives; None: it has none, and Python does what it always does."""
    if type(part) not in (Lasting, Made) or is_scalar(part):
        return None
    cls = part.cls
    if cls in CONTAINERS or cls in it.known.value_classes or getattr(part, "closure", None):
        return None
    if is_declared(cls) and lookup(cls, name) is not MISSING:
        return it.believe(cls) if name in vars(cls) else None
    found = lookup(cls, name)
    if isinstance(found, types.FunctionType):
        if found.__code__.co_filename == "<string>" and "__dataclass_fields__" in vars(cls):
            plain_content(it, frame, one(part))
            return ANY_SCALAR
        if name in ("__enter__", "__exit__", "__iter__", "__next__") and it.known.instance(part):
            return None
        return it.rules.run(it, frame, found, [one(part), *(args or [])])
    if found is MISSING or found is None or isinstance(found, (*_C_CALLABLES,)):
        if isinstance(found, _C_CALLABLES) and not _is_plain_slot(cls, found):
            if it.known.instance(part) is None and it.known.methods_of(cls) is None:
                raise Doubt(
                    Code.UNKNOWN_CALL, f"uses {name} of {describe(part)}, of class {full_name(cls)}, "
                    "which is not known",
                )  # fmt: skip
        return None
    if isinstance(found, types.BuiltinFunctionType | types.GetSetDescriptorType):
        return None
    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {name} of {describe(part)}, an odd attribute")


_PLAIN_HOMES = (
    object, type, BaseException, types.FunctionType, types.MethodType, types.ModuleType,
    types.BuiltinFunctionType, types.GeneratorType, property, zip, map, filter, enumerate, reversed,
)  # fmt: skip


def _is_plain_slot(cls: type, found: Any) -> bool:
    home = found.__objclass__
    return home in CONTAINERS or home in _PLAIN_HOMES or home in (
        int, float, str, bytes, bool, complex,
    )  # fmt: skip


def known_operand(it: Interpreter, part: Any, deep: bool = False) -> None:
    """An operand that no code of the program's own is asked for. Raises Doubt."""
    if is_container(part):
        if deep:
            plain_content(it, it.outermost, one(part))
    elif type(part) in (Lasting, Made) and not is_scalar(part):
        check_array(it, part)
        plain_content(it, it.outermost, one(part))


def known_operands(it: Interpreter, value: Value) -> None:
    for part in value:
        known_operand(it, part, deep=True)


def enter(it: Interpreter, frame: Frame, managers: Value) -> Value:
    result = NOTHING
    for part in managers:
        if is_scalar(part):
            continue
        managed = type(part) is Made and part.cls is contextlib._GeneratorContextManager
        found = None if managed else special(it, frame, part, "__enter__")
        if found is not None:
            result |= found
        elif managed:
            result |= part.items
        elif type(part) is Abstract:
            if part.lasting:
                it.writes(part, "enters")
            result |= one(part)
        elif not it.known.is_manager(part):
            raise Doubt(Code.UNKNOWN_CALL, f"enters {describe(part)}, which is not known")
        else:
            result |= one(part)
    return result


def leave(it: Interpreter, frame: Frame, managers: Value) -> bool:
    """Whether it may swallow an exception."""
    swallows = False
    for part in managers:
        of_class = getattr(part, "cls", None)
        found = None
        if of_class is not contextlib._GeneratorContextManager:
            found = special(it, frame, part, "__exit__", [ANY_SCALAR, FRESH, FRESH])
        swallows |= found is not None or of_class in (
            contextlib._GeneratorContextManager, contextlib.suppress,
        )  # fmt: skip
    return swallows


def check_instance(it: Interpreter, frame: Frame, classes: Value) -> None:
    """isinstance asks a metaclass, if it has an answer of its own."""
    for part in classes:
        for thing in getattr(part, "objects", ()):
            for cls in thing if isinstance(thing, tuple) else (thing,):
                meta = type(cls)
                own = lookup(meta, "__instancecheck__")
                trusted = (meta.__module__ or "").partition(".")[0] in it.known.packages
                if isinstance(own, types.FunctionType) and not trusted:
                    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"asks isinstance of {full_name(cls)}")
                hook = getattr(cls, "__subclasshook__", None)
                function = getattr(hook, "__func__", None)
                if function is not None and not _of_packages(it, function):
                    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"asks isinstance of {full_name(cls)}")
        if type(part) is Made and part.cls is tuple:
            check_instance(it, frame, part.items)


def _of_packages(it: Interpreter, function: Any) -> bool:
    return (getattr(function, "__module__", "") or "").partition(".")[0] in it.known.packages
