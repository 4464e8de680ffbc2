"""What an expression may stand for while code is read: a set of parts.

    Lasting  live objects of one class: they outlive the sample. To change one is state.
    Scalar   a value that can't be changed, of a class (None: any of them)
    Abstract an object of a library's class, made in the sample or (lasting) from what outlives it
    Made     an object or container that the read code makes, with what is put in it
    Method   a method by its name, of a part
    Bound    a function of Python with the part it is bound to

The empty set: nothing, the code raises there.
"""

import collections
import datetime
import decimal
import enum
import fractions
import re
import types
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import torch

from .proof import Code, Doubt

MOST_ITEMS = 3_000_000  # of containers, looked at in one proof
_FEW = 24  # objects that are told apart

Value = frozenset[Any]  # of parts

_NONE = type(None)
_IMMUTABLE = {
    int, float, complex, bool, str, bytes, _NONE, range, slice, type(Ellipsis),
    type(NotImplemented), torch.dtype, torch.device, torch.Size, torch.layout,
    torch.memory_format, re.Pattern, decimal.Decimal, fractions.Fraction, datetime.date,
    datetime.datetime, datetime.timedelta, datetime.time,
}  # fmt: skip
_PLAIN_CONSTANTS = (int, float, bool, str, bytes, _NONE)
CONTAINERS = (
    list, tuple, dict, set, frozenset, collections.deque, collections.OrderedDict,
    collections.defaultdict, collections.Counter, types.MappingProxyType,
)  # fmt: skip
_FROZEN = (tuple, frozenset, types.MappingProxyType)
MAPPINGS = (dict, types.MappingProxyType)


class Lasting:
    __slots__ = ("cls", "key", "objects", "path")

    def __init__(self, objects: list[Any], key: Any, path: str) -> None:
        self.objects, self.key, self.path = objects, key, path
        self.cls = type(objects[0])

    def __eq__(self, other: Any) -> bool:
        return type(other) is Lasting and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Scalar:
    __slots__ = ("cls",)

    def __init__(self, cls: type | None = None) -> None:
        self.cls = cls

    def __eq__(self, other: Any) -> bool:
        return type(other) is Scalar and self.cls is other.cls

    def __hash__(self) -> int:
        return hash(self.cls)


class Abstract:
    __slots__ = ("cls", "lasting", "path")

    def __init__(self, cls: type | None = None, lasting: bool = False, path: str = "") -> None:
        self.cls, self.lasting, self.path = cls, lasting, path

    def __eq__(self, other: Any) -> bool:
        same = type(other) is Abstract and self.cls is other.cls
        return same and self.lasting == other.lasting

    def __hash__(self) -> int:
        return hash((self.cls, self.lasting))


class Made:
    """fields: attributes by name; entries of a dict by ("key", constant). items: of a container,
    the values of a dict. elements: of a tuple, one by one. lasting: it was put where it stays."""

    __slots__ = ("cls", "closure", "elements", "fields", "items", "keys", "lasting", "path")

    def __init__(self, cls: type, path: str = "") -> None:
        self.cls, self.path = cls, path
        self.fields: dict[Any, Any] = {}
        self.items: Value = NOTHING
        self.keys: Value = NOTHING
        self.elements: list[Any] | None = None
        self.closure: Any = None
        self.lasting = False


class Method:
    __slots__ = ("name", "owner")

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name

    def __eq__(self, other: Any) -> bool:
        return type(other) is Method and (self.owner, self.name) == (other.owner, other.name)

    def __hash__(self) -> int:
        return hash((self.owner, self.name))


class Bound:
    __slots__ = ("function", "owner")

    def __init__(self, function: Any, owner: Any) -> None:
        self.function, self.owner = function, owner

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is Bound and self.function is other.function and self.owner == other.owner
        )

    def __hash__(self) -> int:
        return hash((id(self.function), self.owner))


class Vector(np.ndarray):
    """Stands for an array that is known to have an axis: indexing by it makes a copy."""


NOTHING: Value = frozenset()


def one(part: Any) -> Value:
    return frozenset((part,))


ANY_SCALAR = one(Scalar())
INT, STR, BOOL, FLOAT = (one(Scalar(c)) for c in (int, str, bool, float))
FRESH = one(Abstract())
LASTING = one(Abstract(lasting=True))


def is_immutable(thing: Any) -> bool:
    kind = type(thing)
    if kind in _IMMUTABLE:
        return True
    if isinstance(thing, np.generic | np.dtype):
        return not isinstance(thing, np.void)
    return isinstance(thing, enum.Enum) and is_plain_enum(kind)


def is_plain_enum(cls: type) -> bool:
    if not isinstance(cls, enum.EnumMeta):
        return False
    own = [base for base in cls.__mro__ if isinstance(base, enum.EnumMeta) and len(base)]
    return all(
        not isinstance(found, types.FunctionType)
        or (getattr(found, "__module__", "") or "").partition(".")[0] == "enum"
        for base in own
        for name, found in vars(base).items()
        if name.startswith("_")
    )


def constant(value: Any) -> Value:
    """The abstract value of a value that can't be changed."""
    kind = type(value)
    if kind in _PLAIN_CONSTANTS:
        return one(Lasting([value], ("constant", kind, value), ""))
    return one(Lasting([value], id(value), ""))


NONE = constant(None)


def constant_of(value: Value) -> Any:
    """(the value,) where it is one known constant."""
    if len(value) == 1:
        (part,) = value
        if type(part) is Lasting and len(part.objects) == 1 and is_immutable(part.objects[0]):
            return (part.objects[0],)
    return None


def values_of(objects: Iterable[Any], key: Any, path: str, budget: Any = None) -> Value:
    """The abstract value of live objects. `key` stands for them if they are too many to tell
    apart."""
    objects = objects if isinstance(objects, list | tuple) else list(objects)
    if budget is not None:
        budget.spend(len(objects))
    if len(objects) <= _FEW:
        return frozenset(live(thing, path) for thing in objects)
    kinds = set(map(type, objects))
    parts: list[Any] = []
    for kind in kinds:
        if kind in _IMMUTABLE or issubclass(kind, np.generic):
            parts.append(Scalar(kind))
            continue
        same = objects if len(kinds) == 1 else [o for o in objects if type(o) is kind]
        same = list(same)
        if all(is_immutable(o) for o in islice(same, 1)) and all(map(is_immutable, same)):
            parts.append(Scalar(kind))
        elif len({id(o) for o in islice(same, 64)}) <= _FEW and len({id(o) for o in same}) <= _FEW:
            parts += [live(o, path) for o in {id(o): o for o in same}.values()]
        else:
            parts.append(Lasting(same, ("group", key, kind), path))
    return frozenset(parts)


def live(thing: Any, path: str) -> Any:
    if type(thing) in _PLAIN_CONSTANTS:
        return Lasting([thing], ("constant", type(thing), thing), path)
    return Lasting([thing], id(thing), path)


def is_scalar(part: Any) -> bool:
    """Can't be changed, and holds nothing that can."""
    if type(part) is Scalar:
        return True
    return (
        type(part) is Lasting
        and all(map(is_immutable, part.objects[:_FEW]))
        and (len(part.objects) <= _FEW)
    )


def base_of(cls: Any) -> Any:
    """The container of Python that a class is, or derives from."""
    if cls is None:
        return None
    return next((base for base in cls.__mro__ if base in CONTAINERS), None)


def is_container(part: Any) -> bool:
    return type(part) in (Lasting, Made) and base_of(part.cls) is not None


def maps(part: Any) -> bool:
    """Whether a container is a mapping."""
    return issubclass(base_of(part.cls), MAPPINGS)


def lasts(part: Any) -> bool:
    """Whether to change the part is state."""
    kind = type(part)
    if kind is Lasting:
        return not is_scalar(part)
    if kind in (Abstract, Made):
        return bool(part.lasting)
    if kind in (Method, Bound):
        return lasts(part.owner)
    return False


def holds_lasting(value: Value, seen: set[int] | None = None) -> bool:
    """Whether something that lasts, and can be changed, is reached through the value."""
    seen = set() if seen is None else seen
    for part in value:
        if type(part) is Lasting:
            if is_scalar(part) or _is_code(part) or _is_frozen(part):
                continue
            return True
        if type(part) is Made:
            if part.lasting:
                return True
            if id(part) in seen:
                continue
            seen.add(id(part))
            inner = [*part.fields.values(), part.items, part.keys, *(part.elements or ())]
            if any(holds_lasting(one_, seen) for one_ in inner):
                return True
        elif lasts(part):
            return True
    return False


def _is_code(part: Lasting) -> bool:
    return issubclass(part.cls, type | types.ModuleType | types.BuiltinFunctionType)


def _is_frozen(part: Lasting) -> bool:
    return (
        all(
            type(o) in (tuple, frozenset) and len(o) < 64 and all(map(is_immutable, o))
            for o in part.objects[:_FEW]
        )
        and len(part.objects) <= _FEW
    )


def make_lasting(value: Value) -> Value:
    """The value after it was put where it stays."""
    result = set()
    for part in value:
        if type(part) is Abstract and not part.lasting:
            part = Abstract(part.cls, True, part.path)
        elif type(part) is Made and not part.lasting:
            part.lasting = True
            for name, inner in list(part.fields.items()):
                part.fields[name] = make_lasting(inner)
            part.items, part.keys = make_lasting(part.items), make_lasting(part.keys)
            if part.elements is not None:
                part.elements = [make_lasting(inner) for inner in part.elements]
            if part.closure is not None:
                raise Doubt(Code.WRITES_STATE, "keeps a function that it makes")
        elif type(part) in (Method, Bound):
            make_lasting(one(part.owner))
        result.add(part)
    return frozenset(result)


def describe(part: Any) -> str:
    path = getattr(part, "path", "") or ""
    cls = getattr(part, "cls", None)
    if type(part) in (Method, Bound):
        return describe(part.owner)
    name = getattr(cls, "__name__", "an object")
    return path or f"a {name}"
