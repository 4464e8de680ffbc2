"""What is known of the code of a function once and for all, and what the names of libraries in it stand for."""

import builtins
import functools
import types
from typing import Any

from ..process.modules import namespace
from . import code_reads, known_calls
from .code_reads import ATTRIBUTE, GLOBAL, Read
from .content_kinds import MISSING, is_library, is_pythons
from .content_values import Values, code_digest
from .reach_parts import is_own_code, is_own_module

ATOMS = frozenset((int, float, complex, str, bytes))
_PLAIN_BUILTINS = vars(builtins)


class Facts:
    """Of one code object of a function, that never change; and what its names stood for when somebody looked."""

    def __init__(self, code: types.CodeType) -> None:
        self.code = code  # so that its id() is not given twice
        self.own = is_own_code(code)
        self.first = next(iter(code_reads.parameters(code)), "")
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

    def rest_of(self, function: types.FunctionType, content: Any) -> tuple[Read, ...]:
        """The reads that have to be looked at. The others are as they were, and are added to the content, a
        ProvenContent."""
        variables = function.__globals__
        known = self._stable.get(id(variables))
        if known is None or not _hold(known[0]):
            known = self._stable[id(variables)] = self._look(function)
        guards, digest, rest, maps = known
        if content.guards.active:
            for space, name, value in guards[1:]:
                content.guards.slot(space, name, value)
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
    return all(space.get(name, MISSING) is value for space, name, value in guards)


def _library_read(variables: Any, read: Read) -> tuple[list[tuple[Any, str, Any]], str, str] | None:
    """What makes sure that the read is of a library's function or class by its name there: module and name."""
    value = variables.get(read.name, MISSING)
    guards = [(variables, read.name, value)]
    if value is MISSING:
        value = _PLAIN_BUILTINS.get(read.name, MISSING)
        if value is MISSING or not is_pythons(value) or read.name in ("id", "hash"):
            return None
        return [*guards, (_PLAIN_BUILTINS, read.name, value)], "builtins", read.name
    for number, (kind, name) in enumerate(read.steps):
        if kind != ATTRIBUTE or not isinstance(value, types.ModuleType) or is_own_module(value):
            return None
        space, module = namespace(value), value.__name__
        value = space.get(name, MISSING)
        if value is MISSING or not is_library(value):
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
    if type(constant) in ATOMS:
        atoms.append(constant)
    elif type(constant) is tuple:
        atoms.append(constant)
        for one in constant:
            _gather(one, atoms)
