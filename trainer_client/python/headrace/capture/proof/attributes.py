"""Attributes of live objects and of made ones, without running any of the program's code."""

import abc
import collections
import enum
import functools
import types
from typing import Any

import torch

from . import items
from .frames import Frame
from .interpreter import Interpreter
from .lookup import MISSING, is_data, lookup
from .plain import check_array
from .proof import Code, Doubt
from .values import (
    ANY_SCALAR,
    NOTHING,
    STR,
    Abstract,
    Bound,
    Lasting,
    Made,
    Method,
    Scalar,
    Value,
    constant,
    describe,
    is_scalar,
    live,
    one,
    values_of,
)

_NAMES = ("__name__", "__qualname__", "__module__", "__doc__")
_METAS = (type, abc.ABCMeta, enum.EnumMeta)
_FOUND_BY_OBJECT = (object.__getattribute__,)
_C_METHODS = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
)  # fmt: skip


def get(it: Interpreter, frame: Frame, owner: Value, name: str, quietly: bool = False) -> Value:
    """owner.name"""
    it.step()
    return frozenset().union(*[_get(it, frame, p, name, quietly) for p in _having(owner, name)])


def _having(owner: Value, name: str) -> Value:
    """Without tensors where the code asks a picture for what only pictures have: it would raise there. A
    loop over transforms has both, because it is read once for all of them."""
    others = [p.cls for p in owner if type(p) is Abstract and p.cls not in (None, torch.Tensor)]
    if not any(hasattr(cls, name) for cls in others):
        return owner
    return frozenset(p for p in owner if not _is_tensor(p) or hasattr(torch.Tensor, name))


def _is_tensor(part: Any) -> bool:
    return type(part) is Abstract and part.cls is torch.Tensor


def _get(it: Interpreter, frame: Frame, part: Any, name: str, quietly: bool) -> Value:
    kind = type(part)
    if name == "__class__" and getattr(part, "cls", None) is not None and kind in (Made, Lasting):
        return one(live(part.cls, part.cls.__name__))
    if kind is Scalar:
        return one(Method(part, name))
    if kind is Abstract:
        return _of_abstract(it, part, name)
    if kind is Made:
        return _of_made(it, frame, part, name)
    if kind is Lasting:
        return _of_live(it, frame, part, name)
    if name in _NAMES:
        return STR
    if name in ("__self__",) and kind in (Method, Bound):
        return one(part.owner)
    if name == "__func__" and kind is Bound:
        return one(live(part.function, name))
    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"takes .{name} of a method")


def _of_abstract(it: Interpreter, part: Abstract, name: str) -> Value:
    kind = it.known.attribute_kind(part.cls, name)
    if kind == "method":
        return one(Method(part, name))
    if kind == "scalar":
        return ANY_SCALAR
    if kind == "missing":
        return NOTHING
    if kind == "alias":
        cls = part.cls if part.cls in it.known.arrays else None
        return frozenset((Abstract(cls, part.lasting, part.path), Scalar()))
    of = f" of {part.cls.__name__}" if part.cls is not None else ""
    raise Doubt(Code.UNKNOWN_CALL, f"uses .{name}{of}, which is not known")


def _of_made(it: Interpreter, frame: Frame, part: Made, name: str) -> Value:
    if part.closure is not None:
        if name in part.fields:
            held: Value = part.fields[name]
            return held
        if name in _NAMES:
            return STR
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"takes .{name} of a function")
    cls = part.cls
    if name == "__dict__":
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses __dict__ of {describe(part)}")
    _check_lookup(cls)
    found = lookup(cls, name)
    if found is not MISSING and is_data(found):
        if type(found) is types.MemberDescriptorType:
            slot: Value = part.fields.get(name, NOTHING)
            return slot
        return _by_class(it, frame, part, cls, name, found)
    own: Value | None = part.fields.get(name)
    if own is not None and found is MISSING:
        return own
    if found is not MISSING:
        return (own or NOTHING) | _by_class(it, frame, part, cls, name, found)
    missing = lookup(cls, "__getattr__")
    if isinstance(missing, types.FunctionType) and missing is not torch.nn.Module.__getattr__:
        return it.rules.run(it, frame, missing, [one(part), constant(name)])
    return own or NOTHING


def _check_lookup(cls: type) -> None:
    found = lookup(cls, "__getattribute__")
    if found not in _FOUND_BY_OBJECT and type(found) is not types.WrapperDescriptorType:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"{cls.__qualname__} has a __getattribute__ of its own")


def _of_live(it: Interpreter, frame: Frame, part: Lasting, name: str) -> Value:
    first = part.objects[0]
    if is_scalar(part):
        return _of_constant(it, part, name)
    if isinstance(first, types.ModuleType):
        return _of_module(part, first, name)
    if isinstance(first, type):
        return _of_class(it, frame, part, first, name)
    if part.cls in it.known.value_classes:
        check_array(it, part)
        return _of_abstract(it, Abstract(part.cls, True, part.path), name)
    if isinstance(first, types.FunctionType | types.BuiltinFunctionType | functools.partial):
        return _of_function(part, first, name)
    if isinstance(first, types.MethodType):
        return _of_method(part, first, name)
    return _of_instance(it, frame, part, name)


def _of_constant(it: Interpreter, part: Lasting, name: str) -> Value:
    first = part.objects[0]
    if isinstance(first, enum.Enum):
        if name in ("name", "value", "_name_", "_value_"):
            things = [getattr(o, name) for o in part.objects]
            return values_of(things, (part.key, name), f"{part.path}.{name}")
        found = lookup(part.cls, name)
        if isinstance(found, types.FunctionType):
            return one(Bound(found, part))
        if isinstance(found, property) and isinstance(found.fget, types.FunctionType):
            return it.rules.run(it, None, found.fget, [one(part)])
    return one(Method(part, name)) if hasattr(type(first), name) else NOTHING


def _of_module(part: Lasting, module: Any, name: str) -> Value:
    found = vars(module).get(name, MISSING)
    if found is MISSING:
        if "__getattr__" in vars(module) or type(module) is not types.ModuleType:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {module.__name__}.{name}, not loaded so far")
        return NOTHING
    return values_of([found], None, f"{module.__name__}.{name}")


def _of_class(it: Interpreter, frame: Frame, part: Lasting, cls: type, name: str) -> Value:
    if name in _NAMES:
        return constant(getattr(cls, name)) if name != "__doc__" else STR
    meta = type(cls)
    of_meta = lookup(meta, name)
    if meta not in _METAS and not (meta.__module__ or "").startswith(
        ("torch", "typing", "_ctypes")
    ):
        own = [m for m in ("__getattr__", "__getattribute__")
               if isinstance(lookup(meta, m), types.FunctionType)]  # fmt: skip
        if own or (of_meta is not MISSING and is_data(of_meta)):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"{cls.__qualname__} has a metaclass of its own")
    found = lookup(cls, name)
    if found is MISSING:
        if isinstance(of_meta, types.FunctionType):
            return one(Bound(of_meta, part))
        if name in ("__dict__", "__subclasses__", "__mro__", "__bases__"):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {name} of {cls.__qualname__}")
        return NOTHING
    path = f"{cls.__qualname__}.{name}"
    if isinstance(cls, enum.EnumMeta) and name in cls.__members__:
        return values_of([cls.__members__[name]], None, path)
    if isinstance(found, staticmethod):
        return one(live(found.__func__, path))
    if isinstance(found, classmethod):
        return _bound(found.__func__, part)
    if isinstance(found, types.FunctionType | property | _C_METHODS[0] | _C_METHODS[1]):
        return one(live(found, path))
    if isinstance(found, types.ClassMethodDescriptorType):
        return one(Method(part, name))
    return _held(it, frame, part, found, path)


def _bound(function: Any, part: Any) -> Value:
    if isinstance(function, types.FunctionType):
        return one(Bound(function, part))
    raise Doubt(Code.UNKNOWN_CALL, f"calls {getattr(function, '__qualname__', 'a method')}")


_TUPLE_GETTER = type(vars(collections.namedtuple("_Pair", "first"))["first"])


def _held(it: Interpreter, frame: Frame, part: Any, found: Any, path: str) -> Value:
    """A value that a class holds, unless it is a descriptor."""
    if type(found) is _TUPLE_GETTER:
        place = found.__reduce__()[1][0]
        if type(part) is Made:
            return part.elements[place] if part.elements is not None else part.items
        return values_of([o[place] for o in part.objects], (part.key, place), path)
    if isinstance(found, functools.partialmethod | functools.singledispatchmethod):
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"{path} is a {type(found).__name__}")
    getter = lookup(type(found), "__get__")
    if getter is MISSING or isinstance(found, type):
        return values_of([found], None, path)
    if isinstance(getter, types.FunctionType):
        mine = one(part) if not isinstance(getattr(part, "cls", None), type) else one(part)
        return it.rules.run(it, frame, getter, [one(live(found, path)), mine, ANY_SCALAR])
    if isinstance(found, types.BuiltinFunctionType) or type(found).__module__ in (
        "torch",
        "torch._C",
    ):
        return values_of([found], None, path)
    if isinstance(found, functools._lru_cache_wrapper):
        return one(Bound(found, part))
    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"{path} is a descriptor that is not followed")


def _of_function(part: Lasting, first: Any, name: str) -> Value:
    if name in _NAMES:
        return STR
    if isinstance(first, functools.partial) and name in ("func", "args", "keywords"):
        return values_of([getattr(first, name)], None, f"{part.path}.{name}")
    held = getattr(first, "__dict__", {})
    if name in held:
        return values_of([held[name]], None, f"{part.path}.{name}")
    if name in ("__dict__", "__globals__", "__defaults__", "__kwdefaults__", "__closure__",
                "__code__", "__wrapped__"):  # fmt: skip
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {name} of a function")
    return one(Method(part, name)) if hasattr(type(first), name) else NOTHING


def _of_method(part: Lasting, first: Any, name: str) -> Value:
    if name == "__self__":
        return values_of([first.__self__], None, f"{part.path}.__self__")
    if name == "__func__":
        return values_of([first.__func__], None, f"{part.path}.__func__")
    return STR if name in _NAMES else NOTHING


def _of_instance(it: Interpreter, frame: Frame, part: Lasting, name: str) -> Value:
    cls, path = part.cls, f"{part.path}.{name}"
    if name in ("__dict__", "__slots__"):
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {name} of {describe(part)}")
    _check_lookup(cls)
    it.check_copies(cls)
    found = lookup(cls, name)
    filled = it.fills.attribute(it, frame, part, name)
    if found is not MISSING and is_data(found):
        if type(found) is types.MemberDescriptorType:
            things = [getattr(o, name) for o in part.objects if hasattr(o, name)]
            return values_of(things, (part.key, name), path) | filled
        return _by_class(it, frame, part, cls, name, found)
    held = [_dict(o)[name] for o in part.objects if name in _dict(o)]
    if issubclass(cls, torch.nn.Module):
        for table in ("_parameters", "_buffers", "_modules"):
            held += [t[name] for o in part.objects if name in (t := _dict(o).get(table) or {})]
    result = values_of(held, (part.key, name), path, it.budget) | filled
    if len(held) >= len(part.objects):
        return result
    if found is not MISSING:
        return result | _by_class(it, frame, part, cls, name, found)
    missing = lookup(cls, "__getattr__")
    if missing is not MISSING and missing is not torch.nn.Module.__getattr__:
        if not isinstance(missing, types.FunctionType):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"takes {path} by an unknown __getattr__")
        return result | it.rules.run(it, frame, missing, [one(part), constant(name)])
    return result


def _dict(thing: Any) -> dict[str, Any]:
    try:
        held: dict[str, Any] = object.__getattribute__(thing, "__dict__")
        return held
    except AttributeError:
        return {}


def _by_class(it: Interpreter, frame: Frame, part: Any, cls: type, name: str, found: Any) -> Value:
    path = f"{describe(part)}.{name}"
    if isinstance(found, types.FunctionType):
        return one(Bound(found, part))
    if isinstance(found, staticmethod):
        return one(live(found.__func__, path))
    if isinstance(found, classmethod):
        return _bound(found.__func__, live(cls, cls.__qualname__))
    if isinstance(found, property):
        if isinstance(found.fget, types.FunctionType):
            return it.rules.run(it, frame, found.fget, [one(part)])
        raise Doubt(Code.UNKNOWN_CALL, f"{path} is a property that is not followed")
    if isinstance(found, functools.cached_property):
        return it.fills.cached_property(it, frame, part, name, found)
    if isinstance(found, types.GetSetDescriptorType):
        raise Doubt(Code.UNKNOWN_CALL, f"uses {path} of {cls.__qualname__}, which is not known")
    if isinstance(found, _C_METHODS):
        return one(Method(part, name))
    return _held(it, frame, part, found, path)


# What is set.


def store(it: Interpreter, frame: Frame, owner: Value, name: str, value: Value) -> None:
    """owner.name = value"""
    for part in owner:
        cls = getattr(part, "cls", None)
        if type(part) is Lasting and it.fills.stores(it, frame, part, name, value):
            continue
        if cls is not None and type(part) in (Lasting, Made):
            setter = lookup(cls, "__setattr__")
            if isinstance(setter, types.FunctionType) and setter is not torch.nn.Module.__setattr__:
                if not _is_frozen_dataclass(cls, setter):
                    it.rules.run(it, frame, setter, [one(part), constant(name), value])
                    continue
            if (
                type(part) is Made
                and part.closure is None
                and _set_by_class(it, frame, part, cls, name, value)
            ):
                continue
        if type(part) is Abstract and not part.lasting:
            if it.known.attribute_kind(part.cls, name) is None and part.cls is not None:
                raise Doubt(Code.UNKNOWN_CALL, f"sets .{name} of {describe(part)}")
            items.check_content(it, part, value)
            continue
        it.writes_if_lasting(part, f"sets {describe(part)}.{name}")
        if type(part) is Made:
            it.set_field(part, name, value)
        elif not is_scalar(part):
            raise Doubt(Code.WRITES_STATE, f"sets {describe(part)}.{name}")


def _is_frozen_dataclass(cls: type, setter: Any) -> bool:
    return "__dataclass_fields__" in vars(cls) and setter.__code__.co_filename == "<string>"


def _set_by_class(
    it: Interpreter, frame: Frame, part: Made, cls: type, name: str, value: Value
) -> bool:
    found = lookup(cls, name)
    if found is MISSING or type(found) is types.MemberDescriptorType:
        return False
    if isinstance(found, property):
        if isinstance(found.fset, types.FunctionType):
            it.rules.run(it, frame, found.fset, [one(part), value])
            return True
        raise Doubt(Code.UNKNOWN_CALL, f"sets {describe(part)}.{name}, a property")
    setter = lookup(type(found), "__set__")
    if isinstance(found, types.FunctionType | type) or setter is MISSING:
        return False
    if isinstance(setter, types.FunctionType):
        it.rules.run(it, frame, setter, [one(live(found, name)), one(part), value])
        return True
    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"sets {describe(part)}.{name}, a descriptor")


def delete(it: Interpreter, frame: Frame, owner: Value, name: str) -> None:
    for part in owner:
        cls = getattr(part, "cls", None)
        if cls is not None and isinstance(lookup(cls, "__delattr__"), types.FunctionType):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"deletes {describe(part)}.{name}")
        if type(part) is not Made or is_data(lookup(part.cls, name)):
            raise Doubt(Code.WRITES_STATE, f"deletes {describe(part)}.{name}")
        it.writes_if_lasting(part)
