"""The content of a call of a function that Headrace has found by itself: as of one that the program declares
(content.py), and all that it names must be known to depend on nothing else (known_calls.py).

So the name of a call and the proof are one walk: what is not walked is not covered, and what is walked and not known
ends it.
"""

import functools
import types
from typing import Any

from ..declared import NEVER
from . import code_reads, known_calls
from .content import Content, original_of
from .content_values import NotHashed
from .reach_parts import LRU, is_own_code

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
        self._walked: list[types.CodeType] = []  # of the function that is walked now

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
        if not self._in_class:
            raise NotHashed(f"it uses what is not known: {why}")
        for code in self._walked:  # of a class, not all is called
            self.unclean.setdefault(id(code), f"it uses what is not known: {why}")

    def _compound(self, value: Any, kind: type, what: str) -> None:
        if kind is LRU and is_own_code(getattr(value.__wrapped__, "__code__", _NO_CODE)):
            raise NotHashed(f"{what} is a cache of the program's")
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
        if given is not None or is_own_code(code):
            why = known_calls.refuses_names(code) if is_own_code(code) else ""
            why = why or code_reads.reads_of(code).refused
            if NEVER in vars(function):
                why = "it is never_cached"
            if why and not self._in_class:
                raise NotHashed(f"{why} ({function.__qualname__})")
            for one, atoms in inner_codes(code):
                self.codes.add(id(one))
                if why:
                    self.unclean[id(one)] = f"{function.__qualname__}: {why}"
                if len(self.atoms) < _MOST_ATOMS:
                    self.atoms.extend(atoms)
        before = self._walked
        self._walked = [one for one, _ in inner_codes(code)] if is_own_code(code) else before
        try:
            super()._function(function, given)
        finally:
            self._walked = before


_NO_CODE = (lambda: None).__code__


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
