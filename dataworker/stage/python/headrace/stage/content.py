"""A strong hash of what a call's result may depend on: values by their content, code by its instructions and by what
it reads (code_reads.py).

No code of the program's runs for it: attributes are looked up as they are stored. Functions and classes of installed
libraries are named, with their version. A value whose content can't be told raises NotHashed.
"""

import builtins
import functools
import sys
import types
from collections import OrderedDict
from contextlib import suppress
from typing import Any

import numpy as np

from ..declared import CACHED, NEVER
from ..process import generators
from ..process.modules import namespace
from . import code_reads, process_part
from .code_reads import ATTRIBUTE, CELL, GLOBAL, ITEM_AT, LATER, Read, bound, parameters
from .content_kinds import MISSING as _MISSING
from .content_kinds import has_attributes as has_attributes
from .content_kinds import in_class, is_library, is_pythons, item_of
from .content_values import (
    ADD,
    ORIGINAL,
    NotHashed,
    NotYet,
    TooMuch,
    Values,
    code_digest,
    version_of,
)
from .functions import Replaced
from .name_guards import UNGUARDED, Unguarded
from .reach_parts import LRU, is_own_class, is_own_code, is_own_module
from .served_code import original_of as original_of

_MOST_DEPTH, _MOST_VALUES = 60, 50_000
FEW = 16  # items of a container that are looked at for paths

MARKS = (ORIGINAL, CACHED, NEVER, "__headrace_pure__", "__annotations__")

# What a class has of Python's own, or for people.
_OF_CLASSES = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__slotnames__",
     "__firstlineno__", "__static_attributes__", "_abc_impl", "__abstractmethods__",
     "__annotate_func__", "__annotations_cache__")
)  # fmt: skip


class Content(Values):
    """Of one call. One thread."""

    libraries: frozenset[str] = frozenset()  # whose settings are in it
    atoms: list[Any] | None = None  # numbers and texts that were met; None: nobody asks
    _in_class = False
    guards: Unguarded = UNGUARDED  # what is told of each place that is looked at
    most, most_items = _MOST_VALUES, sys.maxsize  # that are looked at; of one list, tuple or dict

    def __init__(self, memo: Any = None) -> None:
        super().__init__(memo)
        self._methods_seen: set[tuple[int, int]] = set()  # functions, with their owners

    def process(self, libraries: frozenset[str] | None) -> None:
        """What the call depends on of the process. `libraries`: those whose settings count; None: all that are
        loaded."""
        text, self.libraries = process_part.settings(libraries)
        self.text(b"settings", text)

    def call(self, function: types.FunctionType, args: Any, named: dict[str, Any]) -> None:
        """All that the call depends on. Raises NotHashed."""
        if code_reads.returns_later(function.__code__):
            raise NotHashed(LATER)
        given = bound(function.__code__, args, named)
        self._lasting = True
        self._function(function, given)

    def reads(self, function: types.FunctionType, owner: Any = None) -> None:
        """What all its calls depend on. `owner`: of a method, or None. Raises NotHashed."""
        self._lasting = True
        if owner is None:
            self._function(function, None)
        else:
            self._method(owner, function)

    def value(self, value: Any, what: str = "") -> None:
        """`what`: how people find it."""
        kind = type(value)
        add = ADD.get(kind)
        if add is not None:
            add(self, value)
            return
        if self._depth > _MOST_DEPTH or len(self._seen) > self.most:
            raise TooMuch(f"{what} is too much to look at")
        mark = self._seen.get(id(value))
        if mark is not None:
            self._note(b"again", mark)
            return
        self._seen[id(value)] = len(self._seen)
        self._held.append(value)
        self.guards.met(value)
        self._depth += 1
        try:
            self._compound(value, kind, what or kind.__qualname__)
        finally:
            self._depth -= 1

    def _compound(self, value: Any, kind: type, what: str) -> None:
        if kind in (list, tuple):
            self._items(value, kind, what)
        elif kind in (dict, OrderedDict):
            self._mapping(value, kind, what)
        elif kind in (set, frozenset):
            self._note(b"set" if kind is set else b"frozen", len(value))
            self.guards.sequence(value)
            label = f"an item of {what}"
            for item in value:  # in the order that code would see
                self.value(item, label)
        elif issubclass(kind, type):
            self._class(value)
        elif isinstance(value, types.ModuleType):
            if is_own_module(value):
                raise NotHashed(f"{what} is a module of the program's, whole")
            self.text(b"module", version_of(value.__name__))
        elif isinstance(value, types.FunctionType):
            self._function(value, None)
        elif kind is types.MethodType:
            self.value(value.__func__, what)
            self.value(value.__self__, what)
        elif kind is Replaced:
            self.value(value.real, what)
        elif kind is LRU:
            self.guards.slot(vars(value), "__wrapped__", value.__wrapped__)
            self.value(value.__wrapped__, what)
        elif kind is functools.partial:
            for part in (value.func, value.args, value.keywords):
                self.value(part, what)
        elif kind in (staticmethod, classmethod):
            self.value(value.__func__, what)
        elif kind is property:
            for part in (value.fget, value.fset, value.fdel):
                self.value(part, what)
        elif kind.__name__ == "cython_function_or_method":  # each module has a type of its own
            self.guards.fails("a function of Cython")
            self.library(b"cython", value.__module__, value.__qualname__)
        elif kind is types.BuiltinFunctionType or kind is np.ufunc:
            self._builtin(value, what)
        elif not self._of_library(value, kind, what):
            self._instance(value, kind, what)

    def _items(self, value: Any, kind: type, what: str) -> None:
        if len(value) > self.most_items:
            raise TooMuch(f"{what} is too much to look at")
        self.guards.sequence(value)
        known = self._memo.text_list(value) if self._memo and self._lasting else None
        if known is not None:
            self._note(b"texts")
            self.data(known)
            return
        self._note(b"list" if kind is list else b"tuple", len(value))
        if len(value) <= FEW:
            for item in value:
                self.path(item)
        label = f"an item of {what}"
        for item in value:
            self.value(item, label)

    def _mapping(self, value: Any, kind: type, what: str) -> None:
        if len(value) > self.most_items:
            raise TooMuch(f"{what} is too much to look at")
        self.guards.mapping(value)
        self._pairs(value, kind, what)

    def _pairs(self, value: Any, kind: type, what: str) -> None:
        self._note(b"dict" if kind is dict else b"ordered", len(value))
        label = f"a key of {what}"
        for key, item in value.items():
            self.value(key, label)
            if type(item) in ADD or type(key) not in (str, int):
                self.value(item, what)
            else:
                self.value(item, f"{what}[{key!r}]")

    # Code.

    def _function(self, function: types.FunctionType, given: dict[str, Any] | None) -> None:
        """`given`: the call's arguments; None: it is not called here, or with something unknown."""
        self.guards.function(function)
        function = original_of(function)
        code = function.__code__
        if given is None and not is_own_code(code):
            self.library(b"library", function.__module__, function.__qualname__)
            for cell in (
                function.__closure__ or ()
            ):  # a decorator of a library, around code of the program
                with suppress(ValueError):
                    held = cell.cell_contents
                    if isinstance(held, types.FunctionType):
                        self.value(held, function.__qualname__)
            return
        if given is None and id(code) in self._seen and function.__closure__ is None:
            self._note(b"code again", self._seen[id(code)])
            return
        self._seen.setdefault(id(code), len(self._seen))
        name = function.__qualname__
        reads = code_reads.reads_of(code)
        if reads.refused and not self._in_class:
            raise NotHashed(f"{reads.refused} ({name})")
        self.data(code_digest(code))
        # Immutable or not, they are as they are now.
        self.value(function.__defaults__, f"a default of {name}")
        self.value(function.__kwdefaults__, f"a default of {name}")
        for attribute, held in vars(function).items():
            if attribute not in MARKS:
                self.value(held, f"{name}.{attribute}")
        for imported in reads.imports:
            self._import(imported, name)
        self._reads(function, reads.reads, given, name)
        for builtin in reads.builtins:
            if builtin not in function.__globals__ and not self._in_class:
                raise NotHashed(f"{name} calls {builtin}()")

    def _import(self, imported: str, name: str) -> None:
        module = sys.modules.get(imported)
        self.guards.slot(sys.modules, imported, module)
        if module is None:
            raise NotYet(f"{name} imports {imported}, which is not loaded yet")
        if is_own_module(module) and getattr(module, "__file__", None) is not None:
            raise NotHashed(f"{name} imports {imported}, of the program's own")
        self.text(b"import", version_of(imported))

    def _reads(
        self, function: Any, reads: tuple[Read, ...], given: dict[str, Any] | None, name: str
    ) -> None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        whole = set()
        for read in reads:
            if read.root == GLOBAL:
                value = function.__globals__.get(read.name, _MISSING)
                self.guards.slot(function.__globals__, read.name, value)
                if value is _MISSING:  # Python's own, or not there yet
                    self.text(b"builtin", read.name)
                    value = vars(builtins).get(read.name, _MISSING)
                    self.guards.slot(vars(builtins), read.name, value)
                    if value is _MISSING or is_pythons(value):
                        continue
            elif read.root == CELL:
                try:
                    value = cells[read.name].cell_contents
                except ValueError:
                    self.text(b"no cell", read.name)
                    continue
            elif given is None or read.name not in given:
                continue  # whoever calls it depends on what it gives
            else:
                value = given[read.name]
                if not read.steps or not has_attributes(value):
                    whole.add(read.name)
                    continue
            self.text(b"read", read.name)
            self._resolve(value, read.steps, given or {}, _spelled(read))
        for key in sorted(whole):
            value = (given or {})[key]
            self.text(b"argument", key)
            lasting, self._lasting = self._lasting, False
            self.path(value)
            self.value(value, key)
            self._lasting = lasting

    def _resolve(
        self, value: Any, steps: tuple[Any, ...], given: dict[str, Any], what: str
    ) -> None:
        while steps:
            (kind, name), *rest = steps
            if isinstance(value, types.ModuleType):
                found = namespace(value).get(name, _MISSING)
                self.guards.slot(namespace(value), name, found)
                if found is _MISSING or kind != ATTRIBUTE:
                    if is_own_module(value):
                        raise NotHashed(f"{what} is not there")
                    break
                if not is_own_module(value) and is_library(found):
                    self.library(b"of library", value.__name__, name)
                    if not isinstance(found, types.ModuleType):
                        return
            elif kind == ATTRIBUTE:
                if not has_attributes(value):
                    break
                held = object.__getattribute__(value, "__dict__")
                of_class = in_class(type(value), name)
                self.guards.attribute(value, name, held.get(name, _MISSING))
                self.guards.in_class(type(value), name)
                if isinstance(of_class, property | types.FunctionType | classmethod):
                    if name not in held:
                        self._method(value, of_class)
                        return
                found = held.get(name, _MISSING)
                if found is _MISSING:
                    found = of_class
                if found is _MISSING:
                    break
            else:
                found = item_of(value, given.get(name, _MISSING) if kind == ITEM_AT else name)
                if kind != ITEM_AT:
                    self.guards.item(value, name, found)
                if found is _MISSING:
                    break
            value, steps = found, tuple(rest)
        self.path(value)
        self.value(value, what)

    def _method(self, owner: Any, of_class: Any) -> None:
        function = of_class
        if isinstance(of_class, property):
            function = of_class.fget
        elif isinstance(of_class, classmethod):
            function, owner = of_class.__func__, type(owner)
        mark = id(function), id(owner)
        if mark in self._methods_seen:
            return
        self._methods_seen.add(mark)
        if not isinstance(function, types.FunctionType):
            self.value(function)
            return
        self.guards.met(of_class)
        code = original_of(function).__code__
        first = parameters(code)[:1]
        if not is_own_code(code):
            self.value(owner, type(owner).__qualname__)
        self._function(function, {first[0]: owner} if first else None)

    def _class(self, cls: type) -> None:
        if not is_own_class(cls):
            self.library(b"class", cls.__module__, cls.__qualname__)
            return
        self.text(b"own class", cls.__qualname__)
        # Not all of it is called. What is, and writes, is found out when it has.
        before, self._in_class = self._in_class, True
        try:
            self._in_own_class(cls)
        finally:
            self._in_class = before

    def _in_own_class(self, cls: type) -> None:
        self.guards.whole_class(cls, _OF_CLASSES)
        for base in cls.__bases__:
            self.value(base, cls.__qualname__)
        for name, held in list(vars(cls).items()):
            if name not in _OF_CLASSES and not isinstance(
                held, types.GetSetDescriptorType | types.MemberDescriptorType
            ):
                self.text(b"attribute", name)
                self.value(held, f"{cls.__qualname__}.{name}")

    def _builtin(self, value: Any, what: str) -> None:
        of = getattr(value, "__self__", None)
        if of is not None and not isinstance(of, types.ModuleType | type):
            raise NotHashed(f"{what} is a method of an object of {type(of).__qualname__}")
        module = getattr(value, "__module__", None) or ("numpy" if type(value) is np.ufunc else "")
        owner = of.__qualname__ if isinstance(of, type) else ""
        self.text(b"builtin", f"{version_of(module)} {owner} {value.__name__}")

    def _instance(self, value: Any, kind: Any, what: str) -> None:
        if generators.is_generator(value):
            raise NotHashed(f"{what} is a random generator")
        if not has_attributes(value):
            raise NotHashed(f"{what} is of {kind.__module__}.{kind.__qualname__}")
        self.guards.instance(value)
        self.value(kind)
        self._pairs(object.__getattribute__(value, "__dict__"), dict, what)


def _spelled(read: Read) -> str:
    return read.name + "".join(
        f".{name}" if kind == ATTRIBUTE else f"[{name}]" for kind, name in read.steps
    )
