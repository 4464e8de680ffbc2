"""A picture of what a pipeline's code can reach, to see later whether the code has changed it.

    picture({"dataset": dataset, "collate_fn": collate}, own)

Looked at are the parts and what hangs on them: attributes and slots of objects, items of containers,
closure cells, defaults and attributes of functions, attributes of classes, and of the modules that the
program's own functions name, the variables that these functions name. Of a module that is reached as a
whole, or whose functions use globals(), eval() or the like, all variables.

What is seen of each: plain values as they are; containers by length and items, of long ones those at
both ends; arrays and tensors by shape, dtype, version counter and bytes, of large ones place and a
sample of them; generator objects by where they stand; random generators by their state, less those
whose state travels with the lane (generators.py). Objects of installed classes are not looked at, but
passed through to the program's own objects in them: what a library keeps is the library's. So are
functools.lru_cache and cached_property: they give what the function gives that they wrap, and that one
is looked at. What can't be looked into counts by its identity.

Nothing of the program is run: no property, no __getattr__, no __eq__, no __repr__. Bounded: MOST_PLACES
places, MOST_BYTES of arrays, nearest first. What lies beyond is not seen, and is no change.
Why so: docs/adr/0029-state-seen.md.
"""

import functools
import gc
import itertools
import types
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from ..declared import ORIGINAL
from ..process import generators
from ..process.modules import namespace
from .reach_parts import (
    PLAIN,
    WHOLE_ARRAY,
    Step,
    Token,
    array_of,
    attributes,
    builtin_of,
    ends_of,
    is_code,
    is_own_class,
    is_own_code,
    is_own_module,
    items_of,
    names_in,
    plain,
    travelling,
)

MOST_PLACES = 4_000
MOST_BYTES = 16 << 20
_BLOCKS, _BLOCK = 64, 1024  # of arrays that are not looked at whole

_SKIPPED = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__slots__", "__annotations__",
    "__qualname__", "__firstlineno__", "__static_attributes__", "__parameters__",
}  # fmt: skip
_WHOLE = {"globals", "locals", "eval", "exec", "vars", "__dict__", "__import__", "import_module"}
_POSITIONED: tuple[type, ...] = (type(iter([])), type(iter(())), type(iter(range(0))))
_MISSING = object()
_QUIET = -1


class Picture:
    """What was seen, place by place."""

    def __init__(self) -> None:
        self.parents: list[int] = []  # of each place; -1: a part
        self.steps: list[Step] = []  # from there
        self.tokens: list[Token] = []
        self.complete = True  # False: there is more than a picture holds

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Picture):
            return NotImplemented
        return (self.tokens, self.steps, self.parents) == (
            other.tokens,
            other.steps,
            other.parents,
        )

    __hash__ = None  # type: ignore[assignment]  # has none

    def places(self) -> dict[tuple[Step, ...], Token]:
        """The tokens by path. For messages and differences: it costs more than the picture."""
        paths: list[tuple[Step, ...]] = []
        for parent, step in zip(self.parents, self.steps, strict=True):
            paths.append((*(paths[parent] if parent >= 0 else ()), step))
        return dict(zip(paths, self.tokens, strict=True))


def picture(parts: dict[str, Any], most: int = MOST_PLACES) -> Picture:
    """`parts`: by name, as dataset and collate_fn. Never raises for what the program's objects do."""
    collects = gc.isenabled()
    gc.disable()  # a collection looks at all that the program has, for what is garbage of this one
    try:
        return _Look(parts, most).taken
    finally:
        if collects:
            gc.enable()


class Opaque:
    """What can't be looked into, by its identity. Not kept alive."""

    __slots__ = ("name", "number")

    def __init__(self, value: Any) -> None:
        self.name, self.number = type(value).__qualname__, id(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is Opaque and (other.name, other.number) == (self.name, self.number)

    def __hash__(self) -> int:
        return hash(self.number)

    def __str__(self) -> str:
        return f"a {self.name}"


class Kind:
    """A container or an object, less what is in it."""

    __slots__ = ("length", "name")

    def __init__(self, name: str, length: int = -1) -> None:
        self.name, self.length = name, length

    def __eq__(self, other: object) -> bool:
        return type(other) is Kind and (other.name, other.length) == (self.name, self.length)

    def __hash__(self) -> int:
        return hash((self.name, self.length))

    def __str__(self) -> str:
        return f"a {self.name}" + (f" of {self.length}" if self.length >= 0 else "")


RANDOM = Kind("random generator")  # whose state travels


class _Look:
    def __init__(self, parts: dict[str, Any], most: int) -> None:
        self.taken = Picture()
        self._bytes = 0
        self._seen: dict[int, int] = {}  # by id: the place, or _QUIET
        self._names: dict[int, set[str]] = {}  # of a namespace, those that were looked at
        self._queue: deque[tuple[int, Step, Any, bool]] = deque()
        self._travels = {id(generator) for generator in travelling(parts)}
        for name, part in parts.items():
            self._queue.append((-1, (".", name), part, False))
        while self._queue:
            if len(self.taken.tokens) >= most or len(self._seen) >= 2 * most:
                self.taken.complete = False
                break
            self._visit(*self._queue.popleft())

    def _visit(self, parent: int, step: Step, value: Any, quiet: bool) -> None:
        """`quiet`: in an object of a library, what is a library's has no place of its own."""
        kind = type(value)
        if kind in PLAIN:
            if not quiet:
                self._note(parent, step, plain(value))
            return
        array = array_of(value)
        quiet = quiet and array is None and not (is_own_class(kind) or is_code(value))
        before = self._seen.get(id(value))
        if before is not None and (quiet or before != _QUIET):
            if not quiet:
                self._note(parent, step, ("as", id(value)))
            return
        self._seen[id(value)] = _QUIET if quiet else len(self.taken.tokens)
        inside: list[tuple[Step, Any]] = []
        library = False
        try:
            if array is not None:
                token = self._of_array(value, array)
            else:
                token, found, library = self._into(value)
                inside = list(found)
        except Exception:  # objects may do anything when they are looked at
            token = Opaque(value)
        here = parent if quiet else self._note(parent, step, token)
        for (how, name), item in inside:
            within = (step[0], f"{step[1]}{_text((how, name))}") if quiet else (how, name)
            self._queue.append((here, within, item, quiet or library))

    def _note(self, parent: int, step: Step, token: Token) -> int:
        taken = self.taken
        taken.parents.append(parent)
        taken.steps.append(step)
        taken.tokens.append(token)
        return len(taken.tokens) - 1

    def _into(self, value: Any) -> tuple[Token, Iterable[tuple[Step, Any]], bool]:
        """What a value is, what is in it, and whether it is a library's object."""
        kind = type(value)
        if issubclass(kind, type):
            return Kind(f"class {value.__qualname__}"), self._in_class(value), False
        if issubclass(kind, types.ModuleType):
            return Kind("module"), self._in_module(value, None), False
        if is_code(value):
            return *self._in_callable(value), False
        if issubclass(kind, dict):
            found = [*items_of(value), *attributes(value)]
            return Kind(kind.__qualname__, dict.__len__(value)), found, False
        if issubclass(kind, list | tuple | deque | set | frozenset):
            found = [*ends_of(value), *attributes(value)]
            return Kind(kind.__qualname__, builtin_of(value).__len__(value)), found, False
        if issubclass(kind, bytearray):
            check = zlib.crc32(memoryview(value)[:WHOLE_ARRAY])
            return (kind.__qualname__, len(value), check), (), False
        if issubclass(kind, int | float | complex | str | bytes):  # of a class made from one
            return plain(builtin_of(value)(value)), attributes(value), False
        if generators.is_generator(value):
            if id(value) in self._travels:
                return RANDOM, (), False
            state = repr(generators.describe(value)).encode()
            return ("random state", zlib.crc32(state)), (), False
        return self._into_object(value, kind)

    def _into_object(
        self, value: Any, kind: type
    ) -> tuple[Token, Iterable[tuple[Step, Any]], bool]:
        if issubclass(kind, types.GeneratorType):
            frame = value.gi_frame
            if frame is None:
                return Kind("generator that has ended"), (), False
            found = [((".", name), item) for name, item in frame.f_locals.items()]
            return ("generator", frame.f_lasti), found, False
        if kind is itertools.count or kind is itertools.repeat:
            return repr(value), (), False
        if kind in _POSITIONED:
            return ("iterator", value.__reduce__()[-1]), (), False
        if kind is staticmethod or kind is classmethod:
            return Kind(kind.__name__), [(("()", "__func__"), value.__func__)], False
        if kind is property:
            each = [(("()", name), getattr(value, name)) for name in ("fget", "fset", "fdel")]
            return Kind("property"), each, False
        found = list(attributes(value))
        if not is_own_class(kind):
            return Opaque(value), found, True
        if id(kind) not in self._seen:
            found.append((("()", "__class__"), kind))
        return Kind(kind.__qualname__), found, False

    def _in_callable(self, value: Any) -> tuple[Token, Any]:
        kind = type(value)
        if issubclass(kind, types.FunctionType):
            value = _as_it_was(value)
            return Opaque(value.__code__), self._in_function(value)
        if issubclass(kind, types.MethodType):
            return Kind("method"), [
                (("()", "__func__"), value.__func__),
                (("()", "__self__"), value.__self__),
            ]
        if issubclass(kind, functools.partial):
            return Kind("partial"), [
                (("()", "func"), value.func),
                (("()", "args"), value.args),
                (("()", "keywords"), value.keywords),
            ]
        return Kind("cache"), [(("()", "__wrapped__"), value.__wrapped__)]

    def _in_function(self, function: Any) -> Iterator[tuple[Step, Any]]:
        if not is_own_code(function.__code__):
            return
        code = function.__code__
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
            try:
                yield (".", name), cell.cell_contents
            except ValueError:
                yield (".", name), None  # not set yet
        for i, each in enumerate(function.__defaults__ or ()):
            yield ("default ", i), each
        for name, each in (function.__kwdefaults__ or {}).items():
            yield ("default ", name), each
        for name, each in list(function.__dict__.items()):
            if name != ORIGINAL:
                yield (".", name), each
        names = names_in(code)
        variables = function.__globals__
        module = variables.get("__name__", "?")
        whole = not _WHOLE.isdisjoint(names)
        for (_, name), each in self._in_namespace(variables, None if whole else names):
            yield (":", f"{module}.{name}"), each

    def _in_namespace(
        self, variables: dict[str, Any], names: set[str] | None
    ) -> Iterator[tuple[Step, Any]]:
        known = self._names.setdefault(id(variables), set())
        wanted = set(variables) if names is None else names
        for name in sorted(wanted - known):
            if not isinstance(name, str) or (name.startswith("__") and name.endswith("__")):
                continue
            known.add(name)
            value = variables.get(name, _MISSING)
            if value is _MISSING:
                continue
            if isinstance(value, types.ModuleType):
                if is_own_module(value):
                    for (_, inner), each in self._in_module(value, names):
                        yield (".", f"{name}.{inner}"), each
                continue
            yield (".", name), value

    def _in_module(self, module: Any, names: set[str] | None) -> Iterator[tuple[Step, Any]]:
        if is_own_module(module):
            yield from self._in_namespace(namespace(module), names)

    def _in_class(self, cls: type) -> Iterator[tuple[Step, Any]]:
        for each in cls.__mro__:
            if not is_own_class(each):
                continue
            if each is not cls:
                yield ("()", each.__qualname__), each
                continue
            for name, value in list(vars(cls).items()):
                if name in _SKIPPED or isinstance(value, functools.cached_property):
                    continue
                if not isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
                    yield (".", name), value

    def _of_array(self, value: Any, array: Any) -> Token:
        """`array`: its bytes; empty where they can't be seen."""
        size = len(array)
        version = getattr(value, "_version", 0) if hasattr(value, "data_ptr") else 0
        token = type(value).__qualname__, tuple(value.shape), str(value.dtype), version
        if size <= WHOLE_ARRAY and self._bytes + size <= MOST_BYTES:
            self._bytes += size
            return (*token, zlib.crc32(array))
        step = max(1, (size - _BLOCK) // _BLOCKS)
        check = 0
        for i in range(_BLOCKS):
            check = zlib.crc32(array[i * step : i * step + _BLOCK], check)
        place = value.data_ptr() if hasattr(value, "data_ptr") else value.ctypes.data
        return (*token, check, place)


def _as_it_was(function: Any) -> Any:
    """Of one that a lane serves from its cache: it may have its own code back at any time."""
    if function.__dict__.get(ORIGINAL) is False:
        return function.__dict__["__wrapped__"]
    return function


def _text(step: Step) -> str:
    how, name = step
    if how == "[]":
        return f"[{name!r}]"
    return f".{name}" if how == "." else ""


def spelled(path: tuple[Step, ...]) -> str:
    """The path as the program would write it: dataset.log[3], train.COUNTER, dataset.Rows.made."""
    text = ""
    for how, name in path:
        if how == ":":
            text = str(name)  # a variable of a module, however it was come to
        elif how == "()":
            text = f"{text}" if str(name).startswith("__") else text
        elif how == "[]":
            text += f"[{name!r}]"
        elif how == ".":
            text += f".{name}" if text else str(name)
        else:
            text += f" {how}{name}"
    return text
