"""What a known function does."""

from collections.abc import Callable
from typing import Any

from .. import contents
from ..arguments import Arguments
from ..frames import Frame
from ..interpreter import Interpreter
from ..plain import plain
from ..proof import Code, Doubt
from ..values import (
    ANY_SCALAR,
    NOTHING,
    Abstract,
    Lasting,
    Value,
    constant_of,
    holds_lasting,
    is_scalar,
    one,
)

# The interpreter, the frame, what is called and what it is given.
Special = Callable[[Interpreter, Frame, Any, Arguments], Value]

FRESH, ALIAS, SCALAR = "fresh", "alias", "scalar"


class Entry:
    """result: FRESH, a new object; ALIAS, one that may share what an argument holds; SCALAR.
    cls: of the result. writes: positions of arguments that it changes. draws: random numbers, or
    what belongs to the worker. most: arguments by position before an `out`. seeds: draws from the
    system if it has no argument. refuse: (code, text), what it does that is not allowed."""

    def __init__(
        self, result: str = FRESH, cls: Any = None, writes: tuple[int, ...] = (), *,
        draws: bool = False, most: int | None = None, seeded: bool = False,
        refuse: Any = None, mode: int | None = None, special: Special | None = None, name: str = "",
    ) -> None:  # fmt: skip
        self.result, self.cls, self.writes, self.draws = result, cls, writes, draws
        self.most, self.seeded, self.refuse, self.mode = most, seeded, refuse, mode
        self.special, self.name = special, name

    def named(self, name: str) -> "Entry":
        kept = {k: v for k, v in vars(self).items() if k not in ("result", "cls", "writes", "name")}
        return Entry(self.result, self.cls, self.writes, **kept, name=name)

    def __call__(self, it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
        name = self.name or getattr(thing, "__qualname__", repr(thing))
        if self.refuse is not None:
            raise Doubt(self.refuse[0], f"calls {name}, {self.refuse[1]}")
        if self.special is not None:
            return self.special(it, frame, thing, given)
        if self.draws:
            it.draws()
        if self.seeded and not given.args and not given.named:
            raise Doubt(Code.READS_OUTSIDE, f"calls {name} without a seed")
        if self.mode is not None:
            check_mode(given.at(self.mode, "mode"), name)
        return apply(it, frame, name, given, self.result, self.cls, self.writes, self.most, thing)


def check_mode(mode: Value, name: str) -> None:
    known = constant_of(mode)
    if mode and (not known or known[0] not in ("r", "rb", "rt", "c", None)):
        raise Doubt(Code.OUTSIDE_EFFECT, f"calls {name} in a mode that may write")


def apply(
    it: Interpreter, frame: Frame, name: str, given: Arguments, result: str, cls: Any = None,
    writes: tuple[int, ...] = (), most: int | None = None, thing: Any = None,
) -> Value:  # fmt: skip
    everything = given.all()
    code = plain(it, everything, own=result == SCALAR)
    if "copy" in given.named and result == FRESH:
        result = ALIAS
    for position in writes:
        _write(it, given.at(position))
    for word in ("out", "dst"):
        if word in given.named:
            _write(it, given.named[word])
            result = ALIAS
    flag = given.named.get("inplace", given.more)
    if flag and (not (known := constant_of(flag)) or known[0]):
        for value in given.args:
            _write(it, value)
        result = ALIAS
    _check_positions(it, given, most, thing)
    if code:
        everything = everything | contents.call_any(it, frame, code, everything)
    if result == SCALAR:
        return ANY_SCALAR
    lasting = result == ALIAS and holds_lasting(everything)
    path = next((p.path for p in everything if getattr(p, "path", "") and not is_scalar(p)), "")
    found = Abstract(cls, lasting, path)
    return frozenset((found, *ANY_SCALAR)) if cls is None else one(found)


def _write(it: Interpreter, value: Value) -> None:
    for part in value:
        if type(part) is Lasting and is_scalar(part):
            continue
        it.writes_if_lasting(part)
        if holds_lasting(one(part)):
            it.writes(part, "changes what is in")


def _check_positions(it: Interpreter, given: Arguments, most: int | None, thing: Any) -> None:
    """Arguments by position that are written to: an `out`, an `inplace` that is true."""
    if most is not None:
        for value in given.args[most:]:
            _write(it, value)
    code = getattr(thing, "__code__", None)
    if code is None:  # numpy's functions stand before their code
        code = getattr(getattr(thing, "_implementation", None), "__code__", None)
    if code is None:
        return
    names = code.co_varnames[: code.co_argcount]
    for word in ("out", "dst", "inplace"):
        if word in names and names.index(word) < len(given.args):
            value = given.args[names.index(word)]
            if word == "inplace":
                if not (known := constant_of(value)) or known[0]:
                    _write(it, given.args[0])
            else:
                _write(it, value)
    if given.rest and any(w in names for w in ("out", "dst", "inplace")):
        _write(it, given.rest)


def keyword_of(given: Arguments, name: str) -> Value:
    return given.named.get(name, NOTHING)
