"""owner.name, as Python looks it up, where nobody's code takes part in that.

A plain attribute of the object, a function of its class, or a plain value that the class holds.
Properties, slots, other descriptors, __getattr__ and metaclasses run code: they end the following.
A member of an enumeration is followed where all code of its class is Python's own.
"""

import enum
import functools
import types
from typing import Any

import torch

from ..proof.lookup import MISSING as ABSENT
from ..proof.lookup import lookup
from ..proof.values import is_plain_enum
from . import arrays, sizes, tensor_methods
from .follower import Follower
from .grounds import CONTAINERS
from .values import (
    MISSING,
    Array,
    Held,
    Image,
    Method,
    OfContainer,
    Special,
    Stop,
    has_plain_meta,
    is_private,
    name,
    wrap,
)

_SIZES = ("width", "height", "size")  # of a PIL image, in the order of its size
_OF_LISTS = ("append", "extend")
_OF_DICTS = ("get", "items", "keys", "values")
_HOLD_DICTS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_MODULE_GETATTR = vars(torch.nn.Module)["__getattr__"]


def attribute(f: Follower, owner: Any, of: str) -> Any:
    """Raises Stop. `of`: the attribute's name."""
    f.spend()
    if is_private(of):
        raise Stop(f"uses {of}, whose name a class changes")
    if type(owner) is list and of in _OF_LISTS or type(owner) is dict and of in _OF_DICTS:
        return OfContainer(owner, of)
    if type(owner) is Array and of == "copy":
        return arrays.Copying(owner)
    if isinstance(owner, Special):
        return owner.attribute(f, of)
    if type(owner) is Image:
        if of in _SIZES and (size := sizes.size_of(f, owner)) is not None:
            return size if of == "size" else size[_SIZES.index(of)]
        if (known := tensor_methods.method(f, owner, of)) is not None:
            return known
        raise Stop(f"uses .{of} of {name(owner)}")
    if type(owner) is not Held:
        raise Stop(f"uses .{of} of {name(owner)}, which is not followed")
    thing = owner.thing
    if (known := f.known_attribute(thing, of)) is not None:
        return known
    if type(thing) is types.ModuleType:
        found = f.seen.read(("own", id(thing), of), lambda: vars(thing).get(of, MISSING))
        if found is MISSING:
            raise Stop(f"uses {thing.__name__}.{of}, which is not there")
        return wrap(found)
    if issubclass(type(thing), type):
        return _of_class(f, thing, of)
    if type(thing) in CONTAINERS:
        if type(thing) in CONTAINERS[2:] and of in _OF_DICTS:
            return OfContainer(owner, of)
        raise Stop(f"uses .{of} of a {type(thing).__name__} that is kept")
    return _of_object(f, owner, of)


def in_class(f: Follower, cls: type, of: str) -> Any:
    """What the class or a base of it holds under the name, or MISSING."""
    if not has_plain_meta(cls):
        raise Stop(f"uses {name(Held(cls))}, which has a metaclass")
    found = f.seen.read(("class", id(cls), of), lambda: lookup(cls, of))
    return MISSING if found is ABSENT else found


def class_of(f: Follower, thing: Any) -> type:
    cls: type = f.seen.read(("type", id(thing)), lambda: type(thing))
    return cls


def own(f: Follower, thing: Any, of: str) -> Any:
    """What the object itself holds under the name, or MISSING."""
    return f.seen.read(("own", id(thing), of), lambda: _dict_of(thing).get(of, MISSING))


def _dict_of(thing: Any) -> dict[str, Any]:
    found = lookup(type(thing), "__dict__")
    if found is ABSENT:
        return {}
    if type(found) not in _HOLD_DICTS:
        raise Stop(f"uses an attribute of {name(Held(thing))}, whose __dict__ is its own affair")
    held = object.__getattribute__(thing, "__dict__")
    if type(held) is not dict:
        raise Stop(f"uses an attribute of {name(Held(thing))}, whose __dict__ is no plain dict")
    return held


def _member(cls: type, of: str) -> Any:
    """The member of an enumeration, or MISSING: it has none, or its class holds something else by
    that name."""
    found = vars(cls)["_member_map_"].get(of, MISSING)
    held = lookup(cls, of)
    return found if held is ABSENT or held is found else MISSING


def _of_object(f: Follower, owner: Held, of: str) -> Any:
    thing = owner.thing
    cls = class_of(f, thing)
    if in_class(f, cls, "__getattribute__") is not object.__getattribute__:
        raise Stop(f"uses .{of} of {name(owner)}, which has a __getattribute__ of its own")
    found = in_class(f, cls, of)
    if type(found) is property and type(found.fget) is types.FunctionType:
        if f.is_followed(found.fget):
            return f.call(f, Method(found.fget, owner), [], {}, "")
    if found is not MISSING and _role(f, found) == "data":
        raise Stop(f"uses .{of} of {name(owner)}, which is a {type(found).__name__}")
    held = own(f, thing, of)
    if held is not MISSING:
        return wrap(held)
    if found is not MISSING:
        return _by_class(f, owner, of, found)
    by_code = in_class(f, cls, "__getattr__")
    if by_code is MISSING:
        raise Stop(f"uses .{of} of {name(owner)}, which is not there")
    if by_code is not _MODULE_GETATTR:
        raise Stop(f"uses .{of} of {name(owner)}, which its __getattr__ makes")
    return _of_module(f, owner, of)


def _of_module(f: Follower, owner: Held, of: str) -> Any:
    """What a torch.nn.Module keeps in its tables."""
    for table in ("_parameters", "_buffers", "_modules"):
        entries = own(f, owner.thing, table)
        if type(entries) not in CONTAINERS[2:]:
            raise Stop(f"uses .{of} of {name(owner)}, which is not there")
        look = functools.partial(entries.get, of, MISSING)
        found = f.seen.read(("table", id(entries), of), look)
        if found is not MISSING:
            return wrap(found)
    raise Stop(f"uses .{of} of {name(owner)}, which is not there")


def _by_class(f: Follower, owner: Held, of: str, found: Any) -> Any:
    if type(found) is types.FunctionType:
        return Method(found, owner)
    if type(found) is staticmethod:
        return wrap(found.__func__)
    if _role(f, found) == "plain":
        return wrap(found)
    raise Stop(f"uses .{of} of {name(owner)}, which is a {type(found).__name__}")


def _of_class(f: Follower, cls: type, of: str) -> Any:
    if type(cls) is enum.EnumMeta and is_plain_enum(cls):
        member = f.seen.read(("member", id(cls), of), lambda: _member(cls, of))
        if member is not MISSING:
            return wrap(member)
    found = in_class(f, cls, of)
    if found is MISSING or lookup(type(cls), of) is not ABSENT:
        raise Stop(f"uses .{of} of {name(Held(cls))}, which is not followed")
    if type(found) is staticmethod:
        return wrap(found.__func__)
    if type(found) is types.FunctionType or _role(f, found) == "plain":
        return wrap(found)
    raise Stop(f"uses .{of} of {name(Held(cls))}, which is a {type(found).__name__}")


def _role(f: Follower, found: Any) -> str:
    """What a value in a class is to lookups: "plain", "data" (it comes before the object's own) or
    "other" (it comes after that, and is called)."""
    kind = type(found)
    if in_class(f, kind, "__get__") is MISSING:
        # Without __get__ a setter alone is of no account to reading.
        return "plain"
    if in_class(f, kind, "__set__") is MISSING and in_class(f, kind, "__delete__") is MISSING:
        return "other"
    return "data"
