"""One reading of a loader's code: what all its frames share."""

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...process import generators
from .frames import Frame
from .proof import Code, Doubt
from .rules import Rules
from .values import (
    LASTING,
    MOST_ITEMS,
    NOTHING,
    Lasting,
    Made,
    Scalar,
    Value,
    describe,
    is_scalar,
    lasts,
    one,
)

if TYPE_CHECKING:
    from .fills import Fills
    from .known.tables import Known

MOST_STEPS = 60_000  # expressions and statements that one reading follows
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, torch.Generator)
_REDUCERS = ("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__getnewargs__",
             "__getnewargs_ex__", "__deepcopy__")  # fmt: skip


class Budget:
    """What may be looked at. Counts, so that the verdict is the same at each epoch."""

    def __init__(self) -> None:
        self.items = 0

    def spend(self, items: int) -> None:
        self.items += items
        if self.items > MOST_ITEMS:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"holds over {MOST_ITEMS:,} things to look at")


class Interpreter:
    def __init__(
        self,
        rules: Rules,
        known: "Known",
        parts: dict[str, Any],
        fills: "Fills",
        declared: dict[str, None],
    ) -> None:
        """`known`: of libraries (known/tables.py); `fills`: what is filled in so far (fills.py)."""
        self.rules = rules
        self.known = known
        self.fills = fills
        self.budget = Budget()
        self.steps = 0
        self.version = 0  # grows when what is made, or a captured name, may be more than before
        self.overlays = 0  # grows when more is filled in
        self.filling = 0  # not 0: what is read now makes a value that is filled in
        self.trying = 0
        self.depth = 0
        self.outermost = Frame(None, "the loader", "", 0)
        self.at = self.outermost, 0  # the statement that is read
        self.drawn = ""  # where random numbers are drawn first
        self.active: set[Any] = set()
        self.recursed: set[Any] = set()
        self.summaries: dict[Any, Value] = {}
        self.memo: dict[Any, Any] = {}
        self.content: dict[Any, Value] = {}
        self.plain_things: dict[tuple[int, Any], list[Any]] = {}
        self.kept: list[Any] = []
        self._sites: dict[Any, Made] = {}
        self._contexts: dict[Any, int] = {}
        self._declared = declared
        self._parts = parts
        self._travel: set[int] | None = None
        self._copied: set[type] = set()
        self._inside: list[Any] = []

    def step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "is too large to be followed")

    # Frames and what they make.

    def frame(self, caller: Frame, node: Any, name: str, file: str, of: int) -> Frame:
        """The frame of a call. A call at the same place of the same frame has the same one, and so
        have the calls by which a function comes to call itself."""
        key: tuple[Any, ...] = (caller.context, caller.line, of)
        for context, function in reversed(caller.chain):
            if function == of:
                key = ("again", context, of)
                break
        context = self._contexts.setdefault(key, len(self._contexts) + 1)
        new = Frame(node, name, file, context)
        new.chain = [*caller.chain, (context, of)]
        return new

    def make(self, frame: Frame, site: Any, cls: type) -> Made:
        where = id(site) if not isinstance(site, str | tuple) else site
        if not isinstance(site, str | tuple):
            self.kept.append(site)
        key = (frame.context, where, cls)
        made = self._sites.get(key)
        if made is None:
            made = self._sites[key] = Made(cls)
        return made

    def grow(self, part: Any, value: Value, at: Any = None) -> None:
        """The value may be among the entries of a container; `at`: of a dict, under that key."""
        if type(part) is not Made or not value:
            return
        if value - part.items:
            part.items |= value
            self.version += 1
        if issubclass(part.cls, dict):
            self.set_field(part, at or "other entries", value)

    def grow_keys(self, part: Any, value: Value) -> None:
        if type(part) is Made and value - part.keys:
            part.keys |= value
            self.version += 1

    def set_elements(self, part: Any, elements: list[Value] | None) -> None:
        if type(part) is not Made:
            return
        before = part.elements
        if elements is None or part.keys == _NO_ELEMENTS:
            part.elements, part.keys = None, _NO_ELEMENTS if part.cls is tuple else part.keys
            return
        if before is not None and len(before) != len(elements):
            part.elements, part.keys = None, _NO_ELEMENTS
        elif before is None:
            part.elements = list(elements)
        else:
            part.elements = [a | b for a, b in zip(before, elements, strict=True)]
            self.version += part.elements != before

    def set_field(self, part: Made, name: Any, value: Value) -> None:
        before = part.fields.get(name, NOTHING)
        if value - before or name not in part.fields:
            part.fields[name] = before | value
            self.version += 1

    def widen(self, value: Value) -> Value:
        """Constants of one class that a loop counts through are any of that class."""
        constants = [p for p in value if type(p) is Lasting and is_scalar(p)]
        if len(constants) < 3:
            return value
        return (value - frozenset(constants)) | frozenset(Scalar(p.cls) for p in constants)

    def assigns_inside(self, node: Any) -> bool:
        import ast

        return any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))

    # What is state.

    def writes(self, part: Any, how: str = "changes") -> None:
        what = describe(part)
        raise Doubt(Code.WRITES_STATE, f"{how} {what}" if not how.startswith("sets ") else how)

    def writes_if_lasting(self, part: Any, how: str = "changes") -> None:
        if lasts(part):
            self.writes(part, how)

    def looked_at(self, frame: Frame | None, value: Value) -> Value:
        """A cache that is filled by key is looked at in no other way."""
        if self.fills.by_key and not self.fills._guarding:
            for part in value:
                if type(part) is Lasting and any(id(o) in self.fills.by_key for o in part.objects):
                    raise Doubt(
                        Code.WRITES_STATE,
                        f"fills {describe(part)}, and looks at it in another way as well",
                    )
        return value

    def draws(self) -> None:
        """Notes that the code draws random numbers, or may."""
        frame, line = self.at
        self.drawn = self.drawn or (f"{frame.name} ({frame.file}:{line})" if line else frame.name)
        if self.filling:
            raise Doubt(Code.WRITES_STATE, "keeps a value that is made with random numbers, or of "
                        "the worker")  # fmt: skip

    def is_generator(self, thing: Any) -> bool:
        return isinstance(thing, _GENERATORS)

    def check_generator(self, thing: Any, part: Any) -> None:
        """A random generator whose state does not travel with the lane is state."""
        self.draws()
        if thing is np.random.mtrand._rand or thing is torch.default_generator:
            return
        if thing is getattr(random, "_inst", None):
            return
        if self._travel is None:
            found = generators._generators(self._parts)
            self._travel = {
                id(g) for path, g in found if not any(s[0] in ("global", "class") for s in path)
            }
        if id(thing) not in self._travel:
            raise Doubt(
                Code.WRITES_STATE,
                f"draws from {describe(part)}, a generator that does not belong to the data set",
                "keep the generator as an attribute of the data set",
            )

    def check_copies(self, cls: type) -> None:
        """The copies of an object elsewhere have the attributes that it has here."""
        if cls in self._copied:
            return
        for base in cls.__mro__:
            if not self.known.is_own(base) or not base.__flags__ & (1 << 9):
                continue
            for name in _REDUCERS:
                if name in vars(base):
                    text = f"{base.__qualname__} has a {name}: its copies may differ from it"
                    raise Doubt(Code.UNKNOWN_CONSTRUCT, text)
        self._copied.add(cls)

    def believe(self, what: Any) -> Value:
        self._declared[getattr(what, "__qualname__", repr(what))] = None
        self.draws()
        return LASTING

    def follow_later(self, part: Any, name: str, others: Value) -> None:
        """A library may ask for this special method, of the part and any of the others."""
        key = (part, name, others)
        if key not in self._inside:
            self._inside.append(key)
            self.rules.special(self, self.outermost, part, name, [others])


_NO_ELEMENTS = one(Scalar(NotImplementedType := type(NotImplemented)))
