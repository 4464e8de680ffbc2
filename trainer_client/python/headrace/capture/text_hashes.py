"""Whether code could tell one process's hashes of text from another's.

Each interpreter draws new ones when it starts, unless PYTHONHASHSEED sets them; a forked worker has
the trainer's. hash() of text shows them, and so does the order of a set of it.
"""

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

# Around a set, they give the same whatever its order.
_ANY_ORDER = ("CONTAINS_OP",)


def reason(functions: list[FunctionType], objects: list[Any]) -> str:
    """How it could; empty: it could not. `functions`: the code that travels; `objects`: what it holds,
    looked into one level deep. A set that a function makes and sorts has no order; __init__ runs in
    the trainer."""
    functions = [function for function in functions if function.__name__ != "__init__"]
    codes = [code for function in functions for code in _all(function.__code__)]
    for function in functions:
        inner = list(_all(function.__code__))
        if any(map(_calls_hash, inner)):
            return f"{function.__qualname__} calls hash()"
        sorts = any("sorted" in code.co_names for code in inner)
        if not sorts and any(map(_makes_set, inner)):
            return f"{function.__qualname__} makes a set"
    for value in objects:
        for name, held in list(getattr(value, "__dict__", {}).items()):
            if type(held) in (set, frozenset) and any(isinstance(x, str | bytes) for x in held):
                if any(_reads_in_order(code, name) for code in codes):
                    return f"{type(value).__qualname__}.{name} is a set of text"
    return ""


def imports(function: FunctionType) -> set[str]:
    """Modules that its code imports itself."""
    steps = (step for code in _all(function.__code__) for step in dis.get_instructions(code))
    return {step.argval for step in steps if step.opname == "IMPORT_NAME"}


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _all(constant)


def _calls_hash(code: CodeType) -> bool:
    return any(
        step.opname in ("LOAD_GLOBAL", "LOAD_NAME") and step.argval == "hash"
        for step in dis.get_instructions(code)
    )


def _makes_set(code: CodeType) -> bool:
    if {"set", "frozenset"} & set(code.co_names):
        return True
    return any(
        (step.opname in ("BUILD_SET", "SET_ADD") or type(step.argval) is frozenset)
        and then.opname not in _ANY_ORDER
        for step, then in _steps(code)
    )


def _reads_in_order(code: CodeType, name: str) -> bool:
    """Whether it does anything with an attribute of that name but to ask what is in it."""
    if name not in code.co_names:
        return False
    return any(
        step.opname == "LOAD_ATTR" and step.argval == name and then.opname not in _ANY_ORDER
        for step, then in _steps(code)
    )


def _steps(code: CodeType) -> Iterator[tuple[dis.Instruction, dis.Instruction]]:
    """Each with the next one."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "NOP")]
    return zip(steps, steps[1:], strict=False)
