"""The content of a call of a function that Headrace has found by itself: as of one that the program declares
(content.py), and all that it names must be known to depend on nothing else (known_calls.py).

So the name of a call and the proof are one walk: what is not walked is not covered, and what is walked and not known
ends it.
"""

import builtins
import functools
import types
from typing import Any

from ..declared import NEVER
from ..process.modules import namespace
from . import code_reads, known_calls
from .code_reads import ATTRIBUTE, GLOBAL, Read
from .content import MARKS, Content, original_of
from .content_kinds import is_library, is_pythons
from .content_values import Refused, Values, code_digest
from .reach_parts import LRU, is_own_code, is_own_module

_ATOMS = frozenset((int, float, complex, str, bytes))
_MOST_ATOMS = 4096


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
        if type(value) in _ATOMS and len(self.atoms) < _MOST_ATOMS:
            self.atoms.append(value)
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

    def _function(self, function: types.FunctionType, given: dict[str, Any] | None) -> None:
        function = original_of(function)
        code = function.__code__
        known = facts_of(code)
        if given is None and not known.own:
            super()._function(function, given)
            return
        if given is None and id(code) in self._seen and function.__closure__ is None:
            self._note(b"code again", self._seen[id(code)])
            return
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
        self._reads(function, known.rest_of(function, self), given, name)
        for builtin in known.reads.builtins:
            if builtin not in function.__globals__ and not self._in_class:
                raise Refused(f"{name} calls {builtin}()")


_NO_CODE = (lambda: None).__code__
_PLAIN_BUILTINS = vars(builtins)


class Facts:
    """Of one code object of a function, that never change; and what its names stood for when somebody looked."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code  # so that its id() is not given twice
        self.own = is_own_code(code)
        self.reads = code_reads.reads_of(code)
        self.why = (known_calls.refuses_names(code) if self.own else "") or self.reads.refused
        inner = inner_codes(code)
        self.codes = frozenset(id(one) for one, _ in inner)
        self.atoms = tuple(atom for _, atoms in inner for atom in atoms)
        self.digest = code_digest(code)
        # Of each namespace: reads whose values are functions, classes and modules of libraries, or Python's own.
        self._stable: dict[
            int, tuple[list[tuple[Any, str, Any]], bytes, tuple[Read, ...], str]
        ] = {}

    def rest_of(self, function: types.FunctionType, content: ProvenContent) -> tuple[Read, ...]:
        """The reads that have to be looked at. The others are as they were, and are added to the content."""
        variables = function.__globals__
        known = self._stable.get(id(variables))
        if known is None or not _hold(known[0]):
            known = self._stable[id(variables)] = self._look(function)
        _, digest, rest, maps = known
        content.data(digest)
        content.maps = content.maps or maps
        return rest

    def _look(
        self, function: types.FunctionType
    ) -> tuple[list[tuple[Any, str, Any]], bytes, tuple[Read, ...], str]:
        guards: list[tuple[Any, str, Any]] = [
            ({"": function.__globals__}, "", function.__globals__)
        ]
        rest, stable = [], Values()
        for read in self.reads.reads:
            found = _library_read(function.__globals__, read) if read.root == GLOBAL else None
            if found is None or known_calls.refuses(found[1], found[2]):
                rest.append(read)
            else:
                guards += found[0]
                stable.library(b"of library", found[1], found[2])
        return guards, stable.digest(), tuple(rest), stable.maps


def _hold(guards: list[tuple[Any, str, Any]]) -> bool:
    return all(space.get(name, _MISSING) is value for space, name, value in guards)


_MISSING: Any = object()


def _library_read(variables: Any, read: Read) -> tuple[list[tuple[Any, str, Any]], str, str] | None:
    """What makes sure that the read is of a library's function or class by its name there: module and name."""
    value = variables.get(read.name, _MISSING)
    guards = [(variables, read.name, value)]
    if value is _MISSING:
        value = _PLAIN_BUILTINS.get(read.name, _MISSING)
        if value is _MISSING or not is_pythons(value) or read.name in ("id", "hash"):
            return None
        return [*guards, (_PLAIN_BUILTINS, read.name, value)], "builtins", read.name
    for number, (kind, name) in enumerate(read.steps):
        if kind != ATTRIBUTE or not isinstance(value, types.ModuleType) or is_own_module(value):
            return None
        space, module = namespace(value), value.__name__
        value = space.get(name, _MISSING)
        if value is _MISSING or not is_library(value):
            return None
        guards.append((space, name, value))
        if not isinstance(value, types.ModuleType):
            # What follows is an attribute of a library's function or class.
            return (
                (guards, module, name) if number == len(read.steps) - 1 or callable(value) else None
            )
    return None


_facts: dict[int, Facts] = {}
_MOST_FACTS = 4096


def facts_of(code: types.CodeType) -> Facts:
    known = _facts.get(id(code))
    if known is None:
        if len(_facts) >= _MOST_FACTS:
            _facts.clear()
        known = _facts[id(code)] = Facts(code)
    return known


@functools.lru_cache(maxsize=1024)
def inner_codes(code: types.CodeType) -> tuple[tuple[types.CodeType, tuple[Any, ...]], ...]:
    """A function's code and those inside of it, each with its constants that are objects of their own."""
    found: list[tuple[types.CodeType, tuple[Any, ...]]] = []
    atoms: list[Any] = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += inner_codes(constant)
        else:
            _gather(constant, atoms)
    return ((code, tuple(atoms)), *found)


def _gather(constant: Any, atoms: list[Any]) -> None:
    if type(constant) in _ATOMS:
        atoms.append(constant)
    elif type(constant) is tuple:
        atoms.append(constant)
        for one in constant:
            _gather(one, atoms)
