"""worker_init_fn: it runs in each worker process, which native plans do not have.

It may seed torch, change the dataset or open files, so a plan with one runs as a Python stage,
where it is called for each lane. The exceptions are the well-known recipe that seeds `random` and
`numpy` only (native operators draw from torch's generator, so it cannot change their samples), and
the frameworks' own functions, whose seeds the lanes then start from (known_hooks.py).
"""

import dis
import functools
import random
import types
from typing import Any

import numpy
import torch

from ..native.collate import name_of
from ..native.plan import NotNative
from . import known_hooks
from .known_hooks import Seeding, stock_seed

# The only attributes that may be read from these modules.
_ALLOWED = {
    random: {"seed"},
    numpy: {"random", "seed"},
    numpy.random: {"seed"},
    torch: {"initial_seed"},
}
_BUILTINS = {"int", "abs", "min", "max", "range", "hash"}
_PLAIN_PREFIXES = ("LOAD_", "BINARY_", "COMPARE_", "UNARY_", "STORE_FAST", "CALL", "PRECALL")
_PLAIN = {
    "RESUME", "PUSH_NULL", "POP_TOP", "RETURN_VALUE", "RETURN_CONST", "CACHE", "NOP", "KW_NAMES",
    "COPY", "SWAP", "CALL_METHOD", "CALL_FUNCTION", "EXTENDED_ARG", "NOT_TAKEN",
}  # fmt: skip


def seeding_of(worker_init_fn: Any) -> Seeding:
    """The seeds of the lanes after the hook. Raises NotNative if the hook may do something else."""
    if worker_init_fn is None or seeds_only(worker_init_fn):
        return stock_seed
    seeding = known_hooks.seeding_of(worker_init_fn)
    if seeding is None:
        raise NotNative(
            f"worker_init_fn={name_of(worker_init_fn)} may change what samples are",
            "let it seed `random` and `numpy` only, or leave it out: torch seeds them by itself",
        )
    return seeding


def seeds_only(function: Any) -> bool:
    """True if all that the function does is seed random and numpy.random."""
    while isinstance(function, functools.partial):
        function = function.func
    if not isinstance(function, types.FunctionType) or function.__closure__:
        return False
    allowed: set[str] = set()
    for step in dis.get_instructions(function):
        name = step.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            found = _allowed_of(function, step.argval)
            if found is None:
                return False
            allowed = found
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            if step.argval not in allowed:
                return False
        elif "DEREF" in name or "CLOSURE" in name:
            return False
        elif name not in _PLAIN and not name.startswith(_PLAIN_PREFIXES):
            return False
    return True


def _allowed_of(function: types.FunctionType, name: str) -> set[str] | None:
    """Attributes that may be read from a global; None if the global may not be used at all."""
    if name not in function.__globals__:
        return set() if name in _BUILTINS else None
    value = function.__globals__[name]
    if isinstance(value, types.ModuleType):
        return _ALLOWED.get(value)
    return set() if isinstance(value, int) else None
