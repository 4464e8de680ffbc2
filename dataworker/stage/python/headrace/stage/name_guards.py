"""What makes sure that the fixed part of a name (fixed_part.py) is as it was: where each value was found, and what it
is. To check that takes a small part of what a walk takes.

A walk that is recorded notes each place that it looks at. What it looks at and nobody notes makes the record useless
(`problem`), so that the next call is walked again: a kind of value that nobody has thought of costs time alone.

Values are compared by identity. That is sound for one that lives: numbers, texts and containers are held here, and
containers' items are places themselves. Objects and functions are held weakly, so that they end when they would
without Headrace. The end of one is the end of the record.
"""

import itertools
import operator
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import PosixPath
from typing import Any

import numpy as np

from . import leaf_memory
from .content_kinds import MISSING
from .content_values import ADD
from .functions import Replaced
from .reach_parts import LRU
from .served_code import UNREAD, function_now, of_cell, original_of

_MOST = 20_000  # places
_PROXY = types.MappingProxyType
# What never changes, beside numbers and texts; or what is its library's, and lives as long.
_STRONG = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.generic, np.dtype, Replaced, PosixPath,
           staticmethod, classmethod, property, slice, range)  # fmt: skip
_DESCRIPTORS = types.GetSetDescriptorType | types.MemberDescriptorType
_CONTAINERS = (list, tuple, dict, OrderedDict, set, frozenset)


class Unguarded:
    """Takes all notes of a walk, and keeps none."""

    active = False

    def slot(self, space: Any, name: Any, value: Any) -> None:
        """A name in a namespace, and what it stands for there; MISSING, if it is not there."""

    def item(self, value: Any, key: Any, found: Any) -> None:
        """An item of a list, a tuple or a dict, by a constant."""

    def attribute(self, value: Any, name: str, found: Any) -> None:
        """What an object's own `__dict__` holds."""

    def kind(self, kind: type) -> None:
        """A class, where it is looked at how its objects look attributes up."""

    def in_class(self, kind: type, name: str) -> None:
        """An attribute of a class was looked for in all its bases."""

    def whole_class(self, cls: type, unread: Any) -> None:
        """All attributes of a class. `unread`: names of those whose values nobody looks at."""

    def sequence(self, value: Any) -> None:
        """All items of a list, a tuple or a set."""

    def mapping(self, value: Any) -> None:
        """All of a dict, in its order."""

    def instance(self, value: Any) -> None:
        """All of an object's own `__dict__`, in its order."""

    def function(self, function: Any) -> None:
        """A function's code, defaults, variables around it, and attributes."""

    def leaf(self, value: Any) -> None:
        """An array, or whatever else has bytes: they are compared."""

    def met(self, value: Any) -> None:
        """Any value of the walk, but for numbers and texts."""

    def fails(self, why: str) -> None:
        """Something was looked at that can't be looked at again."""

    def weak(self, value: Any) -> Any:
        """A weak reference, if this is a record."""

    def drop(self) -> None:
        """Nothing is held any more."""


UNGUARDED = Unguarded()


class Guards(Unguarded):
    """Of one walk. One thread."""

    active = True

    def __init__(self, leaf_of: Callable[[Any], Any], owner: Any) -> None:
        """`leaf_of`: the content of an array or a picture, that compares with ==. `owner`: an object that no container
        of the walk holds, so that nothing here makes it live longer."""
        self._owner = id(owner)
        self.problem = ""  # why the record is of no use; empty: it is
        self._alive = True
        self._leaf_of = leaf_of
        self._held: list[Any] = []
        self._refs: dict[int, Any] = {}
        self._slots: dict[tuple[int, Any], tuple[Any, Any, int]] = {}
        self._of_classes: dict[tuple[int, Any], tuple[Any, Any, int]] = {}
        self._orders: dict[int, tuple[type, Any]] = {}
        self._objects: dict[int, tuple[Any, type, dict[Any, int]]] = {}
        self._whole: list[tuple[Any, tuple[Any, ...], list[int]]] = []
        self._dicts: list[tuple[Any, tuple[Any, ...], list[int]]] = []
        self._classes: list[tuple[Any, tuple[Any, ...], list[int]]] = []
        self._lists: list[tuple[Any, Any]] = []
        self._sets: list[tuple[Any, list[int]]] = []
        self._functions: dict[int, tuple[Any, ...]] = {}
        self._leaves: list[tuple[Any, Any]] = []

    # Notes.

    def fails(self, why: str) -> None:
        self.problem = self.problem or why

    def slot(self, space: Any, name: Any, value: Any) -> None:
        places = self._slots if type(space) is dict else self._of_classes
        if type(space) is not dict and type(space) is not _PROXY:
            self.fails("a namespace of its own kind")
            return
        places[id(space), name] = space, name, id(value)
        self._keeps(value)

    def item(self, value: Any, key: Any, found: Any) -> None:
        self.met(value)
        if type(value) is dict:
            self.slot(value, key, found)
        elif type(value) in (list, tuple):
            self.sequence(value)
        elif found is not MISSING:
            self.fails("an item of an array")

    def attribute(self, value: Any, name: str, found: Any) -> None:
        entry = self._objects.get(id(value))
        if entry is None:
            self.met(value)
            if id(value) not in self._refs:
                self.fails("an object that can't be held weakly")
                return
            entry = self._objects[id(value)] = self._refs[id(value)], type(value), {}
            self.kind(type(value))
        entry[2][name] = id(found)
        self._keeps(found)

    def kind(self, kind: type) -> None:
        if id(kind) not in self._orders:
            self._orders[id(kind)] = kind, kind.__mro__
            self.in_class(kind, "__getattribute__")
            for base in kind.__mro__[:-1]:
                if "__del__" in vars(base):
                    self.fails("an object with __del__")

    def in_class(self, kind: type, name: str) -> None:
        self._orders.setdefault(id(kind), (kind, kind.__mro__))
        for base in kind.__mro__:
            space = vars(base)
            found = space.get(name, MISSING)
            self.slot(space, name, found)
            if found is not MISSING:
                return

    def whole_class(self, cls: type, unread: Any) -> None:
        self.kind(cls)
        held = vars(cls)
        self._classes.append((held, tuple(held), list(map(id, held.values()))))
        for name, value in held.items():
            if name in unread or isinstance(value, _DESCRIPTORS):
                self._held.append(value)
            else:
                self._keeps(value)

    def sequence(self, value: Any) -> None:
        if type(value) is list:
            self._lists.append((value, leaf_memory.items(value)))
        elif type(value) is set:
            self._sets.append((value, list(map(id, value))))
        if ADD.keys() >= set(map(type, value)):
            self._held.append(tuple(value))
        else:
            for item in value:
                self._keeps(item)

    def mapping(self, value: Any) -> None:
        self._dicts.append((value, tuple(value), list(map(id, value.values()))))
        for item in value.values():
            self._keeps(item)

    def instance(self, value: Any) -> None:
        self.met(value)
        if id(value) not in self._refs:
            self.fails("an object that can't be held weakly")
            return
        self.kind(type(value))
        held = object.__getattribute__(value, "__dict__")
        ids = list(map(id, held.values()))
        self._objects.setdefault(id(value), (self._refs[id(value)], type(value), {}))
        self._whole.append((self._refs[id(value)], tuple(held), ids))
        for item in held.values():
            self._keeps(item)

    def function(self, function: Any) -> None:
        if id(function) in self._functions:
            return
        self.met(function)
        if id(function) not in self._refs:
            self.fails("a function that can't be held weakly")
            return
        now = function_now(function)
        self._functions[id(function)] = self._refs[id(function)], now
        self._held.append(function.__code__)
        original = original_of(function)
        for cell in original.__closure__ or ():
            self._keeps(of_cell(cell))
        for name, value in vars(original).items():
            if name not in UNREAD:
                self._keeps(value)
        self._held += [original.__code__, original.__defaults__, original.__kwdefaults__]

    def leaf(self, value: Any) -> None:
        self.met(value)
        ref = self._refs.get(id(value)) or _Held(value)
        self._leaves.append((ref, leaf_memory.leaf(value) or _Other(value, self._leaf_of)))

    def met(self, value: Any) -> None:
        kind = type(value)
        if kind in ADD or id(value) in self._refs or value is MISSING:
            return
        if kind in _CONTAINERS or issubclass(kind, _STRONG):
            self._held.append(value)
            return
        try:
            others = (
                () if id(value) == self._owner or _is_code(value) else weakref.getweakrefs(value)
            )
            if not all(map(_is_ours, others)):
                self.fails("somebody is told of the end of an object")
            self._refs[id(value)] = self.weak(value)
        except TypeError:
            if type(kind) is type and not kind.__flags__ & 1 << 9:  # of a library, in C
                self._held.append(value)
            else:
                self.fails(f"an object of {kind.__qualname__}")

    def weak(self, value: Any) -> Any:
        return weakref.ref(value, self._gone)

    def _keeps(self, value: Any) -> None:
        """What was found in some place: it must live for its identity to say anything."""
        if type(value) in ADD:
            self._held.append(value)
        else:
            self.met(value)

    def _gone(self, _: Any) -> None:
        """An object has ended. What is held of its like ends, too."""
        self.drop()

    def drop(self) -> None:
        """The record is of no use any more."""
        self._alive = False
        for kept in vars(self).values():
            if isinstance(kept, list | dict):
                kept.clear()

    # Afterwards.

    def seal(self) -> None:
        """No note is to come."""
        count = sum(
            map(len, (self._slots, self._of_classes, self._whole, self._dicts, self._classes))
        )
        if count > _MOST or len(self._held) > 10 * _MOST:
            self.fails("too much")
        self._sealed = [_columns(one.values()) for one in (self._slots, self._of_classes)]
        self._seen_orders = list(self._orders.values())
        self._seen_objects = [
            (ref, kind, list(names), list(names.values()))
            for ref, kind, names in self._objects.values()
        ]
        self._seen_functions = list(self._functions.values())

    def hold(self) -> bool:
        """Whether all is as it was. Runs no code of the program's."""
        if not self._alive or self.problem:
            return False
        for get, (spaces, names, ids) in zip(_GETS, self._sealed, strict=True):
            if list(map(id, map(get, spaces, names, _REPEAT))) != ids:
                return False
        for kind, order in self._seen_orders:
            if kind.__mro__ is not order:
                return False
        for ref, now in self._seen_functions:
            if (function := ref()) is None or function_now(function) != now:
                return False
        return self._objects_hold() and self._containers_hold() and self._alive

    def _objects_hold(self) -> bool:
        for ref, kind, names, ids in self._seen_objects:
            value = ref()
            if type(value) is not kind:
                return False
            held = _dict_of(value)
            if type(held) is not dict:
                return False
            if list(map(id, map(held.get, names, _REPEAT))) != ids:
                return False
        for ref, keys, ids in self._whole:
            if not _same(_dict_of(ref()), keys, ids):
                return False
        for ref, leaf in self._leaves:
            if (value := ref()) is None or not leaf.holds(value):
                return False
        return True

    def _containers_hold(self) -> bool:
        for held, keys, ids in self._dicts:
            if not _same(held, keys, ids):
                return False
        for held, keys, ids in self._classes:
            if not _same(held, keys, ids):
                return False
        for values, kept in self._lists:
            if not leaf_memory.same_list(values, kept):
                return False
        for items, ids in self._sets:
            if list(map(id, items)) != ids:
                return False
        return True


class _Other:
    """What is made of an array or a picture that is not plain."""

    def __init__(self, value: Any, content_of: Callable[[Any], Any]) -> None:
        self._content_of, self._content = content_of, content_of(value)

    def holds(self, value: Any) -> bool:
        return bool(self._content_of(value) == self._content)


class _Held:
    """As a weak reference, of what lives as long as the record."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return self._value


_REPEAT = itertools.repeat(MISSING)
_GETS: tuple[Any, Any] = (dict.get, _PROXY.get)


def _dict_of(value: Any) -> Any:
    return object.__getattribute__(value, "__dict__")


def _is_ours(ref: Any) -> bool:
    return type(getattr(ref.__callback__, "__self__", None)) is Guards


def _columns(places: Any) -> tuple[list[Any], list[Any], list[int]]:
    rows = list(places)
    return [one[0] for one in rows], [one[1] for one in rows], [one[2] for one in rows]


def _same(held: Any, keys: tuple[Any, ...], ids: list[int]) -> bool:
    return (
        len(held) == len(keys)
        and all(map(operator.is_, held, keys))
        and list(map(id, held.values())) == ids
    )


def _is_code(value: Any) -> bool:
    return isinstance(value, types.FunctionType | types.MethodType | LRU)
