"""What is in a value, as it is stored, and whose it is: the parts of a picture (reach.py)."""

import functools
import itertools
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

from ..process import generators
from ..process.modules import is_installed, namespace

_ENDS = 64  # items at each end of a long container
_LONG_TEXT = 256

PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented))
WHOLE_ARRAY = 1 << 20  # bytes
CONTAINERS = (dict, list, tuple, deque, set, frozenset)
LRU = type(functools.lru_cache(lambda: None))
_CALLABLES = (types.FunctionType, types.MethodType, functools.partial, LRU)

Token = Any  # compares with ==
Step = tuple[str, Any]  # as (".", "log"), ("[]", 3)


def travelling(parts: dict[str, Any]) -> Iterator[Any]:
    """Random generators whose state goes with the lane, or is the process's own."""
    try:
        yield from generators.found_in(parts)
    except Exception:
        return
    if (numpy := sys.modules.get("numpy.random")) is not None:
        yield numpy.mtrand._rand
    if (torch := sys.modules.get("torch")) is not None:
        yield torch.default_generator
    if (python := sys.modules.get("random")) is not None:
        yield python._inst


def plain(value: Any) -> Token:
    if isinstance(value, str | bytes) and len(value) > _LONG_TEXT:
        return type(value).__name__, len(value), hash(value)
    return value if value == value else "nan"


def is_code(value: Any) -> bool:
    return issubclass(type(value), _CALLABLES)


def builtin_of(value: Any) -> Any:
    for base in type(value).__mro__:
        if base.__module__ in ("builtins", "collections") and base is not object:
            return base
    return type(value)


def items_of(value: dict[Any, Any]) -> Iterator[tuple[Step, Any]]:
    items = dict.items(value)
    if dict.__len__(value) > 2 * _ENDS:
        last = list(itertools.islice(reversed(items), _ENDS))
        chosen = [*itertools.islice(items, _ENDS), *reversed(last)]
    else:
        chosen = list(items)
    for i, (key, item) in enumerate(chosen):
        named = type(key) in PLAIN
        yield ("[]", plain(key) if named else i), item
        if not named:
            yield ("key ", i), key


def ends_of(value: Any) -> Iterator[tuple[Step, Any]]:
    base = builtin_of(value)
    length = base.__len__(value)
    if length <= 2 * _ENDS or base in (set, frozenset):
        for i, item in enumerate(itertools.islice(base.__iter__(value), 2 * _ENDS)):
            yield ("[]", i), item
        return
    for i in (*range(_ENDS), *range(length - _ENDS, length)):
        yield ("[]", i), base.__getitem__(value, i)


def attributes(value: Any) -> Iterator[tuple[Step, Any]]:
    """The attributes of an object, as they are stored."""
    kind: Any = type(value)
    try:
        stored = object.__getattribute__(value, "__dict__")
    except AttributeError:
        stored = {}
    if type(stored) is dict:
        for name, item in list(stored.items()):
            if not isinstance(_class_attribute(kind, name), functools.cached_property):
                yield (".", name), item
    for name, member in _slots_of(kind):
        try:
            yield (".", name), member.__get__(value)
        except AttributeError:
            pass  # not set


@functools.cache
def _slots_of(kind: type) -> list[tuple[str, Any]]:
    return [
        (name, member)
        for cls in kind.__mro__
        if is_own_class(cls)
        for name, member in vars(cls).items()
        if isinstance(member, types.MemberDescriptorType)
    ]


def _class_attribute(kind: type, name: Any) -> Any:
    for cls in kind.__mro__:
        if name in vars(cls):
            return vars(cls)[name]
    return None


def array_of(value: Any) -> Any:
    """The bytes of an array or a tensor; empty where they can't be seen. None: it is neither."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and issubclass(type(value), numpy.ndarray):
        if value.dtype.hasobject or issubclass(type(value), numpy.memmap):
            return b""  # a file, or references
        if not value.flags.c_contiguous:
            if value.nbytes > WHOLE_ARRAY:
                return b""
            value = numpy.ascontiguousarray(value)
        return memoryview(value.reshape(-1).view(numpy.uint8)) if value.nbytes else b""
    if torch is not None and issubclass(type(value), torch.Tensor):
        if value.device.type != "cpu" or value.layout != torch.strided or not value.numel():
            return b""
        plain = value.detach().resolve_conj().resolve_neg()
        if not plain.is_contiguous():
            if plain.numel() * plain.element_size() > WHOLE_ARRAY:
                return b""
            plain = plain.contiguous()
        return memoryview(plain.reshape(-1).view(torch.uint8).numpy())
    return None


def names_in(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names |= names_in(each)
    return names


@functools.cache
def is_own_code(code: types.CodeType) -> bool:
    name = code.co_filename
    return not name.startswith("<frozen") and not is_installed(name)


@functools.cache
def _is_own_name(name: str) -> bool:
    """Whether a module of this name is the program's. One that is not there came by value."""
    module = sys.modules.get(name)
    if name == "__main__" or module is None:
        return True
    return is_own_module(module)


def is_own_module(module: Any) -> bool:
    variables = namespace(module)
    file = variables.get("__file__")
    if isinstance(file, str):
        return not is_installed(file)
    spec = variables.get("__spec__")
    return variables.get("__name__") == "__main__" or getattr(spec, "origin", None) is None


def is_own_class(cls: type) -> bool:
    name = vars(cls).get("__module__")
    return isinstance(name, str) and name != "builtins" and _is_own_name(name)
