"""worker_init_fn as frameworks set them: what they make of the seed of a lane's torch generator.

A function is known by being the one that its package has under that name, and by the text of it and
of what it calls. Another release's that differs is not known: its loader runs as Python.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

from ..native.genuine import digest

# (base_seed, lane) -> the seed that the generator is given.
Seeding = Callable[[int, int], int]


def stock_seed(base_seed: int, lane: int) -> int:
    return base_seed + lane


# As a seed of NumPy's: torch's worker makes four words of base seed and lane. client.h has it, too.
NUMPY_OF_WORKER = 2**64 - 1


def stock_numpy_seed(base_seed: int, lane: int) -> int:
    return NUMPY_OF_WORKER


def seeding_of(worker_init_fn: Any) -> Seeding | None:
    """None: not known."""
    function: Any = worker_init_fn
    named: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        if function.args:
            return None
        function, named = function.func, {**function.keywords, **named}
    make = _KNOWN.get((getattr(function, "__module__", None), getattr(function, "__name__", None)))
    if make is None or not _is_genuine(function):
        return None
    return make(function, **named)


def python_seeding_of(worker_init_fn: Any) -> Seeding | None:
    """The same of Python's generator. None: not known, or a seed of more than 64 bits."""
    function: Any = worker_init_fn
    while isinstance(function, functools.partial):
        function = function.func
    return seeding_of(worker_init_fn) if function.__name__ in _SEED_PYTHON_ALIKE else None


def numpy_seeding_of(worker_init_fn: Any) -> Seeding | None:
    """The same of NumPy's generator. None: not known. REQUIRES: seeding_of knows the hook."""
    function: Any = worker_init_fn
    named: dict[str, Any] = {}
    while isinstance(function, functools.partial):
        function, named = function.func, {**function.keywords, **named}
    if function.__name__ != "_worker_init":
        return None
    if named.get("worker_seeding", "all") == "part":
        return stock_numpy_seed
    return lambda base_seed, lane: (base_seed + lane) % (2**32 - 1)


# Each takes the function and what it is called with besides the lane.


def _lightning(function: Any, rank: int | None = None) -> Seeding:
    """seed_everything(workers=True)."""
    scope = function.__globals__
    rank = scope["rank_zero_only"].rank if rank is None else rank
    mix = scope["_generate_seed_sequence"]
    return lambda base_seed, lane: mix(base_seed, lane, rank, count=4)[0]


def _transformers(function: Any, num_workers: int, rank: int) -> Seeding:
    """Trainer's training loader."""
    return lambda base_seed, lane: num_workers * rank + (base_seed + lane) % 2**32


def _timm(function: Any, worker_seeding: Any = "all") -> Seeding | None:
    """create_loader: numpy's generator, if any; a function of the program may seed torch's."""
    return stock_seed if worker_seeding in ("all", "part") else None


_KNOWN: dict[tuple[Any, Any], Callable[..., Seeding | None]] = {
    ("lightning.fabric.utilities.seed", "pl_worker_init_function"): _lightning,
    ("lightning_fabric.utilities.seed", "pl_worker_init_function"): _lightning,
    ("transformers.trainer_utils", "seed_worker"): _transformers,
    ("timm.data.loader", "_worker_init"): _timm,
}
_CALLED = {
    "pl_worker_init_function": ["_generate_seed_sequence"],
    "seed_worker": ["set_seed"],
    "_worker_init": [],
}
# What seeds torch seeds Python, too; Lightning's has a seed of 96 bits for it.
_SEED_PYTHON_ALIKE = ("seed_worker", "_worker_init")
# Digests of the texts, in that order.
_DIGESTS = {
    "19d741506367ab4b64e122342c13705b285900c54c968f9d53c0aee43569abb0",  # Lightning 2.6
    "cbcbc0dbb3ccc02aa27775de42e4722835e69e954a93dec209d3eb3665c6d6fc",  # transformers 5.23
    "d95a4c0db8a17fffab30d7aa2eb1916aa04ed97d0d3ce2ee47ec80c49d6cd610",  # timm 1.0
}


@functools.cache
def _is_genuine(function: Any) -> bool:
    name = function.__name__
    parts = [function, *(function.__globals__.get(called) for called in _CALLED[name])]
    if getattr(sys.modules.get(function.__module__), name, None) is not function:
        return False
    return digest(parts) in _DIGESTS
