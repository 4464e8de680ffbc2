"""Looks for functions whose results may be kept, in what a loader's pipeline holds: the program's functions and
methods that its code reaches by name, and functions in Python of libraries that it calls.

No code of the program's runs. A function that is not found here is not served; one that is found is only a candidate
(found_calls.py).
"""

import functools
import types
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import declared
from ..process.modules import namespace
from . import code_reads, known_calls
from .code_reads import ATTRIBUTE, CELL, GLOBAL, ITEM, PARAMETER
from .content import has_attributes, original_of
from .content_values import ORIGINAL
from .functions import Replaced
from .reach_parts import is_own_class, is_own_code, is_own_module, names_in

_MOST_VALUES, _MOST_FUNCTIONS, _FEW = 3000, 200, 32
# How a loader, or other code, calls objects.
_CALLS = ("__getitem__", "__getitems__", "__call__", "__iter__", "forward")
# Libraries whose functions in Python are candidates themselves. Those of others have native forms, or are short.
_LIBRARIES = (
    "scipy",
    "librosa",
    "skimage",
    "torchaudio",
    "imageio",
    "resampy",
    "python_speech_features",
)
_MARKS = {declared.CACHED, declared.NEVER, ORIGINAL, "__headrace_pure__"}
_CALLABLES: Any = types.FunctionType | types.MethodType | functools.partial


class Candidate(NamedTuple):
    function: Any  # types.FunctionType
    why_not: str  # why its results are not kept, whatever a call does; empty: nothing is known


def find(roots: list[Any]) -> list[Candidate]:
    """`roots`: of the pipeline. Raises nothing."""
    search = _Search()
    for root in roots:
        search.push(root)
    try:
        search.run()
    except Exception:  # of an object that is unlike all others
        pass
    return search.candidates()


class _Search:
    def __init__(self) -> None:
        self._queue: list[Any] = []
        self._seen: dict[int, Any] = {}
        self._functions: dict[int, types.FunctionType] = {}
        self._calls: dict[
            int, set[int]
        ] = {}  # of each function of the program: those that it names
        self._names: set[str] = set(_CALLS)  # that any code uses
        self._objects: list[tuple[Any, type]] = []  # of the program's classes

    def push(self, value: Any) -> None:
        if len(self._seen) < _MOST_VALUES and id(value) not in self._seen:
            self._seen[id(value)] = value
            self._queue.append(value)

    def run(self) -> None:
        known = -1
        while self._queue or known < len(self._names):
            known = len(self._names)
            while self._queue:
                self._look(self._queue.pop(0))
            for (
                owner,
                kind,
            ) in self._objects:  # code that was met since may call more of their methods
                for name in self._names & _methods_of(kind):
                    self._method(owner, kind, name)

    def _look(self, value: Any) -> None:
        kind = type(value)
        if type(value) is types.FunctionType:
            self._function(value, None)
        elif kind is types.MethodType:
            self.push(value.__self__)
            self._function(value.__func__, value.__self__)
        elif kind is functools.partial:
            for part in (value.func, *value.args, *value.keywords.values()):
                self.push(part)
        elif kind in (list, tuple) or kind in (dict, OrderedDict):
            held = value.values() if isinstance(value, dict) else value
            for part in list(held)[:_FEW]:
                if _is_of_interest(part):
                    self.push(part)
        elif isinstance(value, type):
            if is_own_class(value):
                self._objects.append((None, value))
        elif is_own_class(kind) or has_attributes(value):
            if is_own_class(kind):
                self._objects.append((value, kind))
            if not has_attributes(value):
                return
            for part in list(object.__getattribute__(value, "__dict__").values())[:_FEW]:
                if _is_of_interest(part):
                    self.push(part)

    def _method(self, owner: Any, kind: type, name: str) -> None:
        held = _of_class(kind, name)
        if isinstance(held, property):
            held = held.fget
        elif isinstance(held, staticmethod | classmethod):
            held = held.__func__
        if type(held) is types.FunctionType:
            self._function(held, owner)

    def _function(self, function: types.FunctionType, owner: Any) -> None:
        if type(function) is not types.FunctionType:
            return  # of Cython, for example
        function = original_of(function)
        code = function.__code__
        mark = id(function), id(type(owner))
        if mark in self._seen_functions or len(self._functions) >= _MOST_FUNCTIONS:
            return
        self._seen_functions.add(mark)
        if not is_own_code(code):
            if (function.__module__ or "").startswith(_LIBRARIES):
                self._functions[id(function)] = function
            elif function.__closure__ is not None:  # a decorator of a library
                for cell in function.__closure__:
                    if type(held := _held(cell)) is types.FunctionType:
                        self.push(held)
            return
        self._functions[id(function)] = function
        self._names |= names_in(code)
        for value in self._reads(function, owner):
            self.push(value)
        if type(wrapped := vars(function).get("__wrapped__")) is types.FunctionType:
            self.push(wrapped)

    @functools.cached_property
    def _seen_functions(self) -> set[tuple[int, int]]:
        return set()

    def _reads(self, function: types.FunctionType, owner: Any) -> Iterator[Any]:
        """What its code names, as far as it can be followed."""
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
        first = code_reads.parameters(code)[:1]
        for read in code_reads.reads_of(code).reads:
            if read.root == GLOBAL:
                value = function.__globals__.get(read.name)
            elif read.root == CELL:
                value = _held(cells.get(read.name))
            elif read.root == PARAMETER and owner is not None and (read.name,) == first:
                value = owner
            else:
                continue
            for kind, name in read.steps:
                if isinstance(value, types.ModuleType):
                    value = namespace(value).get(name)
                elif kind == ATTRIBUTE and has_attributes(value):
                    held = object.__getattribute__(value, "__dict__")
                    if name not in held:
                        self._method(value, type(value), name)
                        value = None
                    else:
                        value = held[name]
                elif kind == ITEM and type(value) in (list, tuple, dict):
                    value = value.get(name) if type(value) is dict else None
                else:
                    break
            if _is_of_interest(value):
                yield value

    def candidates(self) -> list[Candidate]:
        recursive = _recursive(self._functions)
        return [
            Candidate(function, _why_not(function, id(function) in recursive))
            for function in self._functions.values()
            if declared.CACHED not in vars(function)
        ]


def _recursive(functions: dict[int, types.FunctionType]) -> set[int]:
    """Those that may call themselves, by the names that their code uses: frames of ours among their own would
    meet Python's limit sooner."""
    by_name: dict[str, list[types.FunctionType]] = {}
    for function in functions.values():
        by_name.setdefault(function.__name__, []).append(function)
    calls = {number: _may_call(function, by_name) for number, function in functions.items()}
    found = set()
    for number in functions:
        seen: set[int] = set()
        queue = list(calls[number])
        while queue:
            one = queue.pop()
            if one not in seen:
                seen.add(one)
                queue += calls[one]
        if number in seen:
            found.add(number)
    return found


def _may_call(
    function: types.FunctionType, by_name: dict[str, list[types.FunctionType]]
) -> set[int]:
    """Those that its code may call. Who calls a method names an attribute; any other function is a variable."""
    reads = code_reads.reads_of(function.__code__).reads
    variables = {read.name for read in reads if read.root in (GLOBAL, CELL)}
    of_library: set[str] = set()
    for read in reads:
        value = function.__globals__.get(read.name) if read.root == GLOBAL else None
        if isinstance(value, types.ModuleType) and not is_own_module(value):
            of_library |= {name for _, name in read.steps}
    return {
        id(one)
        for name in names_in(function.__code__)
        for one in by_name.get(name, ())
        if name in variables or (name not in of_library and "." in one.__qualname__)
    }


def _why_not(function: types.FunctionType, recursive: bool) -> str:
    code = function.__code__
    if declared.NEVER in vars(function):
        return "it is never_cached"
    if set(vars(function)) - _MARKS:
        return "it has attributes of its own"
    if code_reads.returns_later(code):
        return code_reads.LATER
    if recursive:
        return "it may call itself"
    if is_own_code(code):
        why = known_calls.refuses_names(code)
    else:
        why = known_calls.refuses(function.__module__, function.__name__)
    return why or code_reads.reads_of(code).refused


def _is_of_interest(value: Any) -> bool:
    if isinstance(value, Replaced):
        return False
    if isinstance(value, types.ModuleType):
        return is_own_module(value)
    if isinstance(value, type):
        return is_own_class(value)
    kind = type(value)
    return isinstance(value, _CALLABLES) or kind in (list, tuple, dict, OrderedDict) or (
        is_own_class(kind) or has_attributes(value))  # fmt: skip


def _methods_of(kind: type) -> set[str]:
    return {name for base in kind.__mro__ if is_own_class(base) for name in vars(base)}


def _of_class(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except (AttributeError, ValueError):
        return None
