"""What a function's code reads beside its own variables, found in its instructions without running it.

A *read* is a root, a parameter, a global name or a variable of a function around it, and the steps that follow at
once: `self.paths[i]` is (parameter self, .paths, [the parameter i]). So a call of a method depends on that one path
and not on the whole list. What is not understood is a shorter read, which covers more.

Nothing here looks at a value. content.py does, at each call.
"""

import dis
import functools
import inspect
import types
from typing import Any, NamedTuple

PARAMETER, GLOBAL, CELL = "parameter", "global", "variable"
ATTRIBUTE, ITEM, ITEM_AT = ".", "[]", "[parameter]"

# Builtins whose results, or effects, are no matter of arguments. open() is watched (witness.py).
_REFUSED = frozenset(
    ("breakpoint", "eval", "exec", "globals", "hash", "id", "input", "locals", "print", "vars")
)
# Why a function is not served that returns_later().
LATER = "it is a generator or a coroutine"
_NO_VALUE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_SKIPPED = ("CACHE", "NOP", "EXTENDED_ARG", "PRECALL", "PUSH_NULL", "NOT_TAKEN")


class Read(NamedTuple):
    root: str
    name: str
    steps: tuple[tuple[str, Any], ...] = ()


class Reads(NamedTuple):
    """Of one code object, and of those inside of it."""

    reads: tuple[Read, ...]
    imports: tuple[str, ...]  # modules that it imports itself
    refused: (
        str  # why its results can't be kept, whatever they are; empty: nothing speaks against it
    )
    builtins: tuple[str, ...]  # names that are refused if they are Python's own


def returns_later(code: types.CodeType) -> bool:
    """Whether a call returns a generator or a coroutine."""
    return bool(code.co_flags & _NO_VALUE)


def parameters(code: types.CodeType) -> tuple[str, ...]:
    """Names of all of them, in the order of a frame's variables."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


@functools.lru_cache(maxsize=1024)
def reads_of(code: types.CodeType) -> Reads:
    look = _Look(code)
    look.into(code, own=True)
    if Read(GLOBAL, "super") in look.found and code.co_varnames:  # it takes the first one by itself
        look.found.append(Read(PARAMETER, code.co_varnames[0]))
    whole = {read.name for read in look.found if read.root == PARAMETER and not read.steps}
    found = [
        read for read in dict.fromkeys(look.found)
        if not (read.root == PARAMETER and read.steps and read.name in whole)
    ]  # fmt: skip
    names = {read.name for read in found if read.root == GLOBAL}
    return Reads(tuple(found), tuple(dict.fromkeys(look.imports)), look.refused,
                 tuple(sorted(names & _REFUSED)))  # fmt: skip


class _Look:
    def __init__(self, code: types.CodeType) -> None:
        self.found: list[Read] = []
        self.imports: list[str] = []
        self.refused = ""
        self._parameters = frozenset(parameters(code))
        self._free = frozenset(code.co_freevars)
        steps = _instructions(code)
        stored = {name for step in steps if _stores(step) for name in _names(step)}
        # Bound again, or read by a function inside: what the name stands for is not followed.
        self._loose = stored | frozenset(code.co_cellvars)
        for name in parameters(code):
            if name in self._loose:
                self.found.append(Read(PARAMETER, name))

    def into(self, code: types.CodeType, own: bool) -> None:
        """`own`: the function's own code, whose variables are its parameters."""
        steps = _instructions(code)
        for at, step in enumerate(steps):
            name = step.opname
            if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self.refused = self.refused or f"it writes the global {step.argval}"
            elif name in ("STORE_DEREF", "DELETE_DEREF") and step.argval in self._free:
                self.refused = self.refused or f"it writes {step.argval}, of a function around it"
            elif name == "IMPORT_NAME":
                self.imports.append(step.argval)
            elif (root := self._root(step, own)) is not None:
                self._follow(root, steps, at + 1, own)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.into(constant, own=False)

    def _root(self, step: dis.Instruction, own: bool) -> Read | None:
        name = step.opname
        if "LOAD_FAST" in name and own:
            names = _names(step)
            for each in names[:-1]:
                if each in self._parameters:
                    self.found.append(Read(PARAMETER, each))
            return Read(PARAMETER, names[-1]) if names[-1] in self._parameters else None
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            return Read(GLOBAL, step.argval)
        if "DEREF" in name or name == "LOAD_CLOSURE":
            return Read(CELL, step.argval) if step.argval in self._free else None
        return None

    def _follow(self, root: Read, steps: list[dis.Instruction], at: int, own: bool) -> None:
        chain: list[tuple[str, Any]] = []
        while root.name not in self._loose or root.root != PARAMETER:
            step = steps[at] if at < len(steps) else None
            if step is None:
                break
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                chain.append((ATTRIBUTE, step.argval))
                at += 1
            elif at + 1 < len(steps) and _subscribes(steps[at + 1]):
                item = self._item(step, own)
                if item is None:
                    break
                chain.append(item)
                at += 2
            else:
                if step.opname in ("STORE_ATTR", "DELETE_ATTR"):
                    path = ".".join([root.name, *(str(part) for _, part in chain), step.argval])
                    self.refused = self.refused or f"it writes {path}"
                break
        self.found.append(root._replace(steps=tuple(chain)))

    def _item(self, step: dis.Instruction, own: bool) -> tuple[str, Any] | None:
        if step.opname == "LOAD_CONST" and type(step.argval) in (int, str):
            return ITEM, step.argval
        if step.opname in ("LOAD_FAST", "LOAD_FAST_BORROW") and own:
            if step.argval in self._parameters and step.argval not in self._loose:
                return ITEM_AT, step.argval
        return None


def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    return [step for step in dis.get_instructions(code) if step.opname not in _SKIPPED]


def _names(step: dis.Instruction) -> tuple[Any, ...]:
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def _stores(step: dis.Instruction) -> bool:
    return "STORE_FAST" in step.opname or "DELETE_FAST" in step.opname or step.opname in (
        "STORE_DEREF", "DELETE_DEREF")  # fmt: skip


def _subscribes(step: dis.Instruction) -> bool:
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def bound(code: types.CodeType, args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the names of parameters. Defaults are not among them."""
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: code.co_argcount]
    given: dict[str, Any] = dict(zip(names, args, strict=False))
    if code.co_flags & inspect.CO_VARARGS:
        given[code.co_varnames[count]] = args[len(names) :]
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        known = code.co_varnames[
            code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount
        ]
        given[code.co_varnames[count]] = {k: v for k, v in named.items() if k not in known}
        named = {k: v for k, v in named.items() if k in known}
    given.update(named)
    return given
