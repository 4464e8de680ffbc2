"""worker_init_fn: it runs in each worker process, which native plans do not have.

It may seed torch, change the dataset or open files, so a plan with one runs as a Python stage,
where it is called for each lane. The exceptions are the well-known recipe that seeds `random` and
`numpy` only, and the frameworks' own functions, whose seeds the lanes then start from
(known_hooks.py). Where a plan draws from Python's generator, the recipe's arithmetic is done here.
"""

import dis
import functools
import random
import types
from collections.abc import Callable
from typing import Any

import numpy
import torch

from ..native.collate import name_of
from ..native.plan import NotNative
from . import known_hooks
from .known_hooks import Seeding, stock_numpy_seed, stock_seed

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


def python_seeding_of(worker_init_fn: Any) -> Seeding:
    """The same of Python's generator. Raises NotNative. REQUIRES: seeding_of knows the hook."""
    return _other_seeding(worker_init_fn, "random", stock_seed, known_hooks.python_seeding_of, 0)


def numpy_seeding_of(worker_init_fn: Any) -> Seeding:
    """The same of NumPy's generator. Raises NotNative. REQUIRES: seeding_of knows the hook."""
    return _other_seeding(
        worker_init_fn, "numpy", stock_numpy_seed, known_hooks.numpy_seeding_of, 1
    )


def _other_seeding(
    worker_init_fn: Any,
    module: str,
    stock: Seeding,
    known: Callable[[Any], Seeding | None],
    place: int,
) -> Seeding:
    """`place`: of the module's seed in what _seeds_by returns."""
    if worker_init_fn is None:
        return stock
    if seeds_only(worker_init_fn):
        return lambda base_seed, lane: _seeds_by(worker_init_fn, base_seed, lane)[place]
    seeding = known(worker_init_fn)
    if seeding is None:
        raise NotNative(
            f"worker_init_fn={name_of(worker_init_fn)} seeds `{module}`, from which samples draw, in "
            "a way that is not known",
            f"leave it out: torch seeds `{module}` by itself",
        )
    return seeding


def _seeds_by(worker_init_fn: Any, base_seed: int, lane: int) -> tuple[int, int]:
    """The seeds that the recipe gives `random` and `numpy`. Its code runs on stand-ins for the
    modules, of which seeds_only says that it uses nothing else. Raises NotNative."""
    seed = stock_seed(base_seed, lane)
    seeds, of_numpy = [seed], [stock_numpy_seed(base_seed, lane)]
    seeded = types.SimpleNamespace(seed=lambda seed=None: of_numpy.append(seed))
    stand_ins = {
        random: types.SimpleNamespace(seed=lambda a: seeds.append(a)),
        numpy: types.SimpleNamespace(random=seeded, seed=seeded.seed),
        numpy.random: seeded,
        torch: types.SimpleNamespace(initial_seed=lambda: seed),
    }
    function: Any = worker_init_fn
    args: tuple[Any, ...] = (lane,)
    named: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        args, named = (*function.args, *args), {**function.keywords, **named}
        function = function.func
    space = {
        name: stand_ins[value] if isinstance(value, types.ModuleType) else value
        for name in function.__code__.co_names
        if (value := function.__globals__.get(name)) is not None
        and (not isinstance(value, types.ModuleType) or value in stand_ins)
    }
    copied = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    copied.__kwdefaults__ = function.__kwdefaults__
    try:
        copied(*args, **named)
    except Exception as error:
        raise NotNative(
            f"worker_init_fn={name_of(worker_init_fn)} raises {type(error).__name__}: {error}"
        ) from None
    if type(seeds[-1]) is not int or not 0 <= seeds[-1] < 1 << 64:
        raise NotNative(
            f"worker_init_fn={name_of(worker_init_fn)} seeds `random` by {seeds[-1]!r}",
            "an int of up to 64 bits",
        )
    by = of_numpy[-1]
    if type(by) is not int or not (0 <= by < 1 << 32 or len(of_numpy) == 1):
        by = -1  # an array, or a number that NumPy refuses
    return seeds[-1], by


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
