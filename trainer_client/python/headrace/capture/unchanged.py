"""Are objects still as they were? Asked before each batch, so in some tens of microseconds.

Looked at are attributes and entries, all the way down: numbers and texts by value, everything else
by identity, tensors by their version too. Modules and classes are looked at for what they define.
"""

import builtins
import contextlib
import enum
import types
from typing import Any

import numpy as np
import torch

_ATOMS = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device, enum.Enum)
_OPAQUE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_BUILTIN = (dict, list, tuple, set, frozenset)
_MISSING = object()


def is_same(now: Any, then: Any) -> bool:
    """The very object, or an equal number or text of its type."""
    return now is then or (type(now) is type(then) and isinstance(now, _ATOMS) and now == then)


class _Entries:
    """The entries of a dict, or of a sequence. Equal at once if all are the very same objects."""

    def __init__(self, now: Any) -> None:
        self._then = dict(now) if isinstance(now, dict) else list(now)
        self._ids = self._ids_of(now)  # none comes again: their objects are kept

    def _ids_of(self, now: Any) -> list[int]:
        return [*map(id, now), *map(id, now.values())] if isinstance(now, dict) else [*map(id, now)]

    def same(self, now: Any) -> bool:
        if self._ids_of(now) == self._ids:
            return True
        if len(now) != len(self._then):
            return False
        if isinstance(now, dict):
            return _same_named(now, self._then)
        return all(map(is_same, now, self._then))


class Unchanged:
    """What it was told to watch, as it was then. One thread."""

    def __init__(self) -> None:
        self._named: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._attributes: list[tuple[Any, _Entries]] = []
        self._entries: list[tuple[Any, _Entries]] = []
        self._tensors: list[tuple[torch.Tensor, tuple[Any, ...]]] = []
        self._arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self._types: list[tuple[Any, type]] = []
        self._seen: dict[int, Any] = {}  # kept, so that no number comes again
        self.classes: dict[type, None] = {}  # of what is watched, with their bases

    def watch(self, value: Any) -> None:
        """`value`, and what it holds. Functions, modules and classes: which they are."""
        if isinstance(value, _ATOMS + _OPAQUE) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        self.classes.update(dict.fromkeys(type(value).__mro__))
        if isinstance(value, torch.Tensor):
            self._tensors.append((value, _version(value)))
        elif isinstance(value, np.ndarray):
            self._arrays.append((value, value.copy()))
        elif isinstance(value, dict | list | tuple | set | frozenset):
            self._entries.append((value, _Entries(value)))
            self._watch_all(value.values() if isinstance(value, dict) else value)
        if type(value) not in _BUILTIN:  # these can have no other class
            self._types.append((value, type(value)))
            held = getattr(value, "__dict__", None)
            if held is not None:
                self._attributes.append((value, _Entries(held)))
                self._watch_all(held.values())

    def watch_attributes(self, owner: Any, names: tuple[str, ...]) -> None:
        """Only these of its own, and what they hold."""
        own = getattr(owner, "__dict__", {})  # none with __slots__
        held = {name: own.get(name, _MISSING) for name in names}
        self._named.append((own, held))
        self._watch_all(value for value in held.values() if value is not _MISSING)

    def _watch_all(self, values: Any) -> None:
        for value in values:
            self.watch(value)

    def same(self) -> bool:
        return (
            all([type(value) is cls for value, cls in self._types])
            and all([then.same(value.__dict__) for value, then in self._attributes])
            and all([then.same(now) for now, then in self._entries])
            and all([_same_named(now, then) for now, then in self._named])
            and all([_version(tensor) == then for tensor, then in self._tensors])
            and all([np.array_equal(now, then) for now, then in self._arrays])
        )


def _same_named(now: Any, then: Any) -> bool:
    return all(is_same(now.get(name, _MISSING), value) for name, value in then.items())


def _version(tensor: torch.Tensor) -> tuple[Any, ...]:
    inference = tensor.is_inference()  # counts no versions
    return 0 if inference else tensor._version, tensor.data_ptr(), tensor.shape, tensor.stride()


class Definitions:
    """What modules and classes define: functions, classes and settings, by identity. A name that is
    added later counts where it hides another one: any of a class, those of builtins in a module.
    Private values are what libraries keep for themselves."""

    def __init__(self, owners: Any) -> None:
        self._owners: list[tuple[Any, dict[str, Any]]] = []
        for owner in owners:
            then = {name: value for name, value in vars(owner).items() if _defines(name, value)}
            self._owners.append((owner, then))
        self._names = [set(vars(owner)) for owner, _ in self._owners]
        self._quick = [list(vars(owner).values()) for owner, _ in self._owners]

    def same(self) -> bool:
        return all(self._one(i) for i in range(len(self._owners)))

    def _one(self, i: int) -> bool:
        owner, then = self._owners[i]
        values = list(vars(owner).values())
        with contextlib.suppress(
            Exception
        ):  # values of the program's own may refuse to be compared
            if values == self._quick[i]:
                return True
        if not _same_named(vars(owner), then):
            return False
        if any(_hides(owner, name) for name in set(vars(owner)) - self._names[i]):
            return False
        self._quick[i] = values  # something was added, or is the library's own affair
        return True


def _defines(name: str, value: Any) -> bool:
    return callable(value) or not name.startswith("_")


def _hides(owner: Any, name: str) -> bool:
    """`name`: defined now, and not when first looked at."""
    if isinstance(owner, type):
        return _defines(name, vars(owner)[name])
    return name in vars(builtins)
