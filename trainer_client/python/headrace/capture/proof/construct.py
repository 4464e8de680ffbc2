"""Objects that the read code makes of classes."""

import abc
import dataclasses
import enum
import types
from typing import Any

from ...declared import is_declared
from . import attributes, methods
from .arguments import Arguments
from .frames import Frame
from .interpreter import Interpreter
from .lookup import is_data, lookup
from .proof import Code, Doubt
from .values import (
    CONTAINERS,
    FRESH,
    MAPPINGS,
    NOTHING,
    Made,
    Value,
    base_of,
    is_plain_enum,
    live,
    one,
    values_of,
)

_METAS = (type, abc.ABCMeta)

_FIELD_CLASSVAR, _FIELD_INITVAR = (
    vars(dataclasses)[name] for name in ("_FIELD_CLASSVAR", "_FIELD_INITVAR")
)


def construct(it: Interpreter, frame: Frame, cls: type, given: Arguments) -> Value:
    if is_declared(cls):
        return it.believe(cls)
    if isinstance(cls, enum.EnumMeta):
        if is_plain_enum(cls):
            return values_of(list(cls), cls, cls.__qualname__)
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"asks for a member of {cls.__qualname__}")
    call = lookup(type(cls), "__call__")
    if isinstance(call, types.FunctionType):
        raise Doubt(
            Code.UNKNOWN_CONSTRUCT, f"makes a {cls.__qualname__}, by a metaclass of its own"
        )
    _check_bases(it, cls)
    made = it.make(frame, (cls, frame.line), cls)
    new = lookup(cls, "__new__")
    new = new.__func__ if isinstance(new, staticmethod) else new
    if isinstance(new, types.FunctionType):
        if _is_named_tuple(cls, new):
            return _named_tuple(it, made, cls, given)
        result = it.rules.run(it, frame, new, [one(live(cls, cls.__qualname__)), *given.args])
        made_parts = [p for p in result if type(p) is Made and p.cls is cls]
        for part in made_parts:
            _start(it, frame, part, cls, given)
        return result
    _start(it, frame, made, cls, given)
    ending = lookup(cls, "__del__")
    if isinstance(ending, types.FunctionType):
        it.rules.run(it, frame, ending, [one(made)])
    return one(made)


def _check_bases(it: Interpreter, cls: type) -> None:
    for base in cls.__mro__:
        if base in (object, *CONTAINERS) or base.__flags__ & (1 << 9):
            continue
        if issubclass(base, BaseException) or base.__module__ in ("typing", "abc"):
            continue
        if base in (int, float, str, bytes):
            continue
        full = f"{cls.__module__}.{cls.__qualname__}"
        raise Doubt(Code.UNKNOWN_CALL, f"makes a {full}, which is not known")


def _start(it: Interpreter, frame: Frame, made: Made, cls: type, given: Arguments) -> None:
    start = lookup(cls, "__init__")
    if isinstance(start, types.FunctionType):
        it.rules.function(it, frame, start, given.behind(one(made)))
    elif base_of(cls) is not None:
        methods._put_all(it, frame, made, issubclass(base_of(cls), MAPPINGS), given)
    elif issubclass(cls, BaseException):
        args = it.make(frame, ("args", cls, frame.line), tuple)
        it.grow(args, given.all())
        it.set_field(made, "args", one(args))


def _is_named_tuple(cls: type, new: types.FunctionType) -> bool:
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple) and type(fields) is tuple and new.__code__.co_filename == "<string>"
    )


def _named_tuple(it: Interpreter, made: Made, cls: Any, given: Arguments) -> Value:
    defaults = getattr(cls, "_field_defaults", {})
    elements = []
    for position, name in enumerate(cls._fields):
        value = given.at(position, name)
        if name in defaults:
            value |= values_of([defaults[name]], None, f"{cls.__qualname__}.{name}")
        elements.append(value)
        it.grow(made, value)
    it.set_elements(made, elements)
    return one(made)


# Functions that the standard library, or attrs, writes.


def generated(it: Interpreter, frame: Frame, function: Any, given: Arguments) -> Value | None:
    """What an __init__ does that dataclass or attrs wrote; None: it is another function."""
    file = function.__code__.co_filename
    if function.__name__ not in ("__init__", "__attrs_init__") or not file.startswith("<"):
        return None
    result = NOTHING
    for part in given.args[0] if given.args else ():
        cls = getattr(part, "cls", None)
        owner = next((b for b in getattr(cls, "__mro__", ()) if
                      vars(b).get(function.__name__) is function), None)  # fmt: skip
        if owner is None:
            return None
        if file == "<string>" and "__dataclass_fields__" in vars(owner):
            _of_dataclass(it, frame, part, owner, given)
        elif file.startswith("<attrs generated") and "__attrs_attrs__" in vars(owner):
            _of_attrs(it, frame, part, owner, given)
        else:
            return None
        result |= values_of([None], None, "")
    return result


def _of_dataclass(it: Interpreter, frame: Frame, part: Any, cls: Any, given: Arguments) -> None:
    later, position = [], 1
    for field in cls.__dataclass_fields__.values():
        kind = getattr(field, "_field_type", None)
        if kind is _FIELD_CLASSVAR:
            continue
        value = NOTHING
        if field.init:
            place = len(given.args) if field.kw_only is True else position
            value = given.at(place, field.name)
            position += field.kw_only is not True
        if field.default is not dataclasses.MISSING:
            value |= values_of([field.default], None, f"{cls.__qualname__}.{field.name}")
        elif field.default_factory is not dataclasses.MISSING:
            factory = values_of([field.default_factory], None, field.name)
            value |= it.rules.apply(it, frame, factory, Arguments())
        if kind is _FIELD_INITVAR:
            later.append(value)
        else:
            _set(it, frame, part, field.name, value)
    after = lookup(cls, "__post_init__")
    if isinstance(after, types.FunctionType):
        it.rules.run(it, frame, after, [one(part), *later])


def _of_attrs(it: Interpreter, frame: Frame, part: Any, cls: Any, given: Arguments) -> None:
    import attr

    factory_class: Any = attr.Factory

    position = 1
    for field in cls.__attrs_attrs__:
        value = NOTHING
        if field.init:
            name = field.alias or field.name.lstrip("_")
            value = given.at(len(given.args) if field.kw_only else position, name)
            position += not field.kw_only
        if isinstance(field.default, factory_class):
            if field.default.takes_self:
                raise Doubt(Code.UNKNOWN_CONSTRUCT, f"makes {cls.__qualname__}.{field.name}")
            factory = values_of([field.default.factory], None, field.name)
            value |= it.rules.apply(it, frame, factory, Arguments())
        elif field.default is not attr.NOTHING:
            value |= values_of([field.default], None, f"{cls.__qualname__}.{field.name}")
        if field.converter is not None:
            converter = values_of([field.converter], None, "a converter")
            value = it.rules.apply(it, frame, converter, Arguments([value]))
        if field.validator is not None:
            validator = values_of([field.validator], None, "a validator")
            it.rules.apply(it, frame, validator, Arguments([one(part), FRESH, value]))
        _set(it, frame, part, field.name, value)
    for name in ("__attrs_pre_init__", "__attrs_post_init__"):
        after = lookup(cls, name)
        if isinstance(after, types.FunctionType):
            it.rules.run(it, frame, after, [one(part)])


def _set(it: Interpreter, frame: Frame, part: Any, name: str, value: Value) -> None:
    found = lookup(getattr(part, "cls", object), name)
    if type(part) is Made and not part.lasting and not is_data(found):
        it.set_field(part, name, value)  # a frozen class too is written to while it is made
    else:
        attributes.store(it, frame, one(part), name, value)
