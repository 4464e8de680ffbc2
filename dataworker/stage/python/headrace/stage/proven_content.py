"""The content of a call of a function that Headrace has found by itself: as of one that the program declares
(content.py), and all that it names must be known to depend on nothing else (known_calls.py).

So the name of a call and the proof are one walk: what is not walked is not covered, and what is walked and not known
ends it.
"""

import marshal
import os
import types
from pathlib import PosixPath
from typing import Any

import numpy as np

from ..declared import NEVER
from . import fixed_part, known_calls, process_part
from .code_facts import ATOMS, Facts, facts_of
from .code_reads import LATER, Read, bound, returns_later
from .content import FEW, MARKS, Content, original_of
from .content_kinds import MISSING, has_attributes
from .content_memo import LEAST_ITEMS
from .content_values import ADD, NotHashed, Refused
from .fixed_part import FixedPart
from .reach_parts import LRU, is_own_code

_NO_CODE = (lambda: None).__code__
_UNCHANGING = (np.generic, PosixPath, slice, range)
_MOST_ATOMS = 4096
_FLAT = ATOMS | {bool, type(None)}
_VERSION = 2  # of marshal: exact floats, and no references between what is equal


class ProvenContent(Content):
    """Of one call. One thread."""

    def __init__(self, memo: Any = None) -> None:
        super().__init__(memo)
        # Numbers and texts that were met, in the order of the walk: which object a result holds can be told.
        self.atoms: list[Any] = []
        self.codes: set[int] = set()  # of the program's functions that the name covers
        self.unclean: dict[int, str] = {}  # the same, that may not run: why
        self._walked: frozenset[int] = frozenset()  # of the function that is walked now: its codes
        self._foreign = False  # that function is a library's: a trace tells what it calls

    def value(self, value: Any, what: str = "") -> None:
        kind = type(value)
        if kind in ATOMS and len(self.atoms) < _MOST_ATOMS:
            self.atoms.append(value)
        if (add := ADD.get(kind)) is not None:
            add(self, value)
        else:
            super().value(value, what)

    def library(self, tag: bytes, module: str, name: str) -> None:
        self._check(known_calls.refuses(module or "", name))
        super().library(tag, module, name)

    def _check(self, why: str) -> None:
        if not why:
            return
        if not self._in_class and not self._foreign:
            raise Refused(f"it uses what is not known: {why}")
        for code in self._walked:  # of a class, not all is called
            self.unclean.setdefault(code, f"it uses what is not known: {why}")

    def _compound(self, value: Any, kind: type, what: str) -> None:
        if kind is LRU and is_own_code(getattr(value.__wrapped__, "__code__", _NO_CODE)):
            raise Refused(f"{what} is a cache of the program's")
        if isinstance(value, types.ModuleType):
            self._check(known_calls.refuses(value.__name__, ""))
        super()._compound(value, kind, what)

    def _builtin(self, value: Any, what: str) -> None:
        module = getattr(value, "__module__", None)
        if type(module) is str:
            self._check(known_calls.refuses(module, value.__name__))
        super()._builtin(value, what)

    def _import(self, imported: str, name: str) -> None:
        self._check(known_calls.refuses(imported, ""))
        super()._import(imported, name)

    def _items(self, value: Any, kind: type, what: str) -> None:
        if not _is_flat(value) or (self._lasting and len(value) >= LEAST_ITEMS):
            super()._items(value, kind, what)
            return
        self.guards.sequence(value)
        if len(value) <= FEW:
            for item in value:
                self.path(item)
        self._flat(value, value)

    def _pairs(self, value: Any, kind: type, what: str) -> None:
        if kind is not dict or not _is_flat(value) or not _is_flat(value.values()):
            super()._pairs(value, kind, what)
            return
        self._flat(value, [*value, *value.values()])

    def _flat(self, value: Any, atoms: Any) -> None:
        """Of numbers and texts alone: all at once."""
        self.data(b"flat")
        self.data(marshal.dumps(value, _VERSION))
        if (room := _MOST_ATOMS - len(self.atoms)) > 0:
            self.atoms += atoms if len(atoms) <= room else atoms[:room]

    def _of_library(self, value: Any, kind: type, what: str) -> bool:
        known = super()._of_library(value, kind, what)
        if known and self.guards.active and not _never_changes(value, kind):
            self.guards.leaf(value)
        return known

    # One call.

    def call(self, function: types.FunctionType, args: Any, named: dict[str, Any]) -> None:
        code = function.__code__
        if returns_later(code):
            raise NotHashed(LATER)
        given = bound(code, args, named)
        known = facts_of(code)
        owner = given.get(known.first)
        if not has_attributes(owner):
            owner = None
        part = fixed_part.part_of(type(self), self._memo, function, owner, self.folder)
        self._take(part)
        self._walked, self._foreign, self._lasting = known.codes, not known.own, True
        self._reads(function, part.varying, given, function.__qualname__)

    def _take(self, part: FixedPart) -> None:
        """Begins with what does not depend on the arguments."""
        self.data(part.digest)
        self.part = part  # its walk's objects live as long
        self._seen, self._methods_seen = part.seen.copy(), part.methods.copy()
        self.atoms, self.codes, self.unclean = part.atoms.copy(), part.codes, part.unclean.copy()
        self.paths, self.memory, self.maps = part.paths.copy(), part.memory.copy(), part.maps
        if part.varying:
            self.codes = self.codes.copy()

    def fixed(self, function: types.FunctionType, owner: Any) -> None:
        """What all calls depend on, and those with this first argument; None: it is of no account. `varying` are
        the reads that are left. Raises NotHashed."""
        self._lasting, self._splits = True, True
        known = facts_of(function.__code__)
        self.guards.function(function)
        self._own_function(function, {} if owner is None else {known.first: owner}, known)

    def leaf(self, value: Any) -> None:
        """A value alone, that lasts."""
        self._lasting = True
        self.value(value)

    @property
    def number(self) -> int:
        """64 bits of its digest."""
        return int.from_bytes(self.digest()[:8], "little")

    @property
    def shared(self) -> int:
        """The same of what does not depend on the arguments."""
        return 0 if self.part is None else int.from_bytes(self.part.digest[:8], "little")

    def marks(self) -> dict[int, int]:
        """What was met, by id()."""
        return self._seen

    @property
    def methods(self) -> set[tuple[int, int]]:
        return self._methods_seen

    _splits = False  # the function that is walked next is the one that is called
    varying: tuple[Read, ...] = ()
    folder = ""  # paths are of this one
    part: FixedPart | None = None

    def _function(self, function: types.FunctionType, given: dict[str, Any] | None) -> None:
        self.guards.function(function)
        function = original_of(function)
        code = function.__code__
        known = facts_of(code)
        if given is None and not known.own:
            super()._function(function, given)
        elif given is None and id(code) in self._seen and function.__closure__ is None:
            self._note(b"code again", self._seen[id(code)])
        else:
            self._own_function(function, given, known)

    def _own_function(
        self, function: types.FunctionType, given: dict[str, Any] | None, known: Facts
    ) -> None:
        code = function.__code__
        self._seen.setdefault(id(code), len(self._seen))
        why = "it is never_cached" if NEVER in vars(function) else known.why
        if why and not self._in_class:
            raise Refused(f"{why} ({function.__qualname__})")
        self.codes.update(known.codes)
        if why:
            self.unclean.update(dict.fromkeys(known.codes, f"{function.__qualname__}: {why}"))
        if len(self.atoms) < _MOST_ATOMS:
            self.atoms.extend(known.atoms)
        before = self._walked, self._foreign
        self._walked, self._foreign = known.codes, not known.own
        try:
            self._body(function, given, known)
        finally:
            self._walked, self._foreign = before

    def _body(self, function: types.FunctionType, given: Any, known: "Facts") -> None:
        name = function.__qualname__
        self.data(known.digest)
        self.value(function.__defaults__, f"a default of {name}")
        self.value(function.__kwdefaults__, f"a default of {name}")
        for attribute, held in vars(function).items():
            if attribute not in MARKS:
                self.value(held, f"{name}.{attribute}")
        for imported in known.reads.imports:
            self._import(imported, name)
        reads = known.rest_of(function, self)
        if self._splits:
            self._splits = False
            first = known.first if given else ""
            self.varying = tuple(read for read in reads if fixed_part.varies(read, first))
            reads = tuple(read for read in reads if not fixed_part.varies(read, first))
        self._reads(function, reads, given, name)
        for builtin in known.reads.builtins:
            if self.guards.active:
                self.guards.slot(
                    function.__globals__, builtin, function.__globals__.get(builtin, MISSING)
                )
            if builtin not in function.__globals__ and not self._in_class:
                raise Refused(f"{name} calls {builtin}()")


class FoundContent(ProvenContent):
    def process(self, libraries: frozenset[str] | None) -> None:
        self.folder = os.getcwd()
        digest, self.libraries = process_part.digest(self.folder, libraries)
        self.data(digest)


def _never_changes(value: Any, kind: type) -> bool:
    if kind is np.void:
        return False
    if isinstance(value, np.dtype):
        return value.fields is None
    return (
        issubclass(kind, _UNCHANGING) or kind.__module__ == "torch" and kind.__name__ in _OF_TORCH
    )


_OF_TORCH = ("dtype", "device", "layout", "Size")


def _is_flat(values: Any) -> bool:
    return bool(values) and _FLAT.issuperset(map(type, values))
