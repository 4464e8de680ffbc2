"""Random generators that the pipeline owns: self.rng of a dataset, those inside of a transform.

Their states are part of the lane's state, as those of torch, random and numpy.random are, so a lane
that goes on elsewhere draws what it would have drawn.
"""

import functools
import itertools
import random
import types
from collections.abc import Iterator
from typing import Any

_MOST_OBJECTS = 5_000
_MOST_ENTRIES = 64  # of a container: generators lie in attributes and short lists, not in tables

_CELL = "<cell>"  # a step of a path: a function's closure cell
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")

Path = tuple[Any, ...]  # attribute names, keys and indices from a root on
State = tuple[Path, str, Any]


def states_of(roots: dict[str, Any]) -> list[State]:
    """Of each generator that the roots hold, with its path."""
    return [(path, *_state(found)) for path, found in _generators(roots)]


def set_states(roots: dict[str, Any], states: list[State]) -> None:
    """Brings them there. One that this process has not made yet is made."""
    here = dict(_generators(roots))
    for path, kind, state in states:
        found = here.get(path)
        if found is None or _state(found)[0] != kind:
            found = _new(kind)
            _put(roots, path, found)
        _set(found, kind, state)


def seed(roots: dict[str, Any], number: int) -> None:
    """Starts each of them from a number: as another process would, that made the same ones."""
    for i, (_, found) in enumerate(_generators(roots)):
        kind, _ = _state(found)
        if kind == "random":
            found.seed(number + i)
        elif kind == "torch":
            found.manual_seed(number + i)
        elif kind == "RandomState":
            found.seed((number + i) & 0xFFFFFFFF)
        else:
            found.bit_generator.state = type(found.bit_generator)(number + i).state


def _generators(roots: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    seen: set[int] = set()
    todo: list[tuple[Path, Any]] = [((name,), root) for name, root in roots.items()]
    while todo and len(seen) < _MOST_OBJECTS:
        path, thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if _is_generator(thing):
            yield path, thing
        else:
            todo += [((*path, step), part) for step, part in _parts(thing)]


def _parts(thing: Any) -> Iterator[tuple[Any, Any]]:
    """What may hold a generator. Plain data is passed over: no part of it is looked at."""
    if isinstance(thing, dict):
        few = thing.items() if len(thing) <= _MOST_ENTRIES else ()
        parts: Any = ((key, part) for key, part in few if isinstance(key, str | int))
    elif isinstance(thing, list | tuple):
        parts = enumerate(thing) if len(thing) <= _MOST_ENTRIES else ()
    elif isinstance(thing, types.FunctionType):
        parts = (((_CELL, i), cell) for i, cell in enumerate(thing.__closure__ or ()))
    elif isinstance(thing, types.CellType):
        try:
            parts = (("cell_contents", thing.cell_contents),)
        except ValueError:  # empty
            parts = ()
    elif isinstance(thing, types.MethodType):
        parts = (("__self__", thing.__self__), ("__func__", thing.__func__))
    elif isinstance(thing, functools.partial):
        parts = (("func", thing.func), ("args", thing.args), ("keywords", thing.keywords))
    elif isinstance(thing, type | types.ModuleType):
        parts = ()
    else:
        slots = (vars(c).get("__slots__", ()) for c in type(thing).__mro__)
        names = itertools.chain.from_iterable((s,) if isinstance(s, str) else s for s in slots)
        held = ((n, getattr(thing, n, None)) for n in names if not n.startswith("__"))
        parts = itertools.chain(getattr(thing, "__dict__", {}).items(), held)
    return ((step, part) for step, part in parts if not isinstance(part, _PLAIN))


_PLAIN = (str, bytes, int, float, bool, type(None), types.BuiltinFunctionType)


def _is_generator(thing: Any) -> bool:
    if isinstance(thing, random.Random):
        return not isinstance(thing, random.SystemRandom)
    module, name = type(thing).__module__, type(thing).__name__
    if module.startswith("numpy.random") and name == "Generator":
        return type(thing.bit_generator).__name__ in _BIT_GENERATORS
    if module.startswith("numpy.random") and name == "RandomState":
        from numpy.random import mtrand

        return thing is not mtrand._rand
    if module == "torch._C" and name == "Generator":
        import torch

        return thing is not torch.default_generator and thing.device.type == "cpu"
    return False


def _state(found: Any) -> tuple[str, Any]:
    if isinstance(found, random.Random):
        return "random", found.getstate()
    name = type(found).__name__
    if type(found).__module__ == "torch._C":
        return "torch", found.get_state().numpy().tobytes()
    if name == "RandomState":
        return "RandomState", found.get_state()
    return type(found.bit_generator).__name__, found.bit_generator.state


def _set(found: Any, kind: str, state: Any) -> None:
    if kind == "random":
        found.setstate(state)
    elif kind == "torch":
        import torch

        found.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif kind == "RandomState":
        found.set_state(state)
    else:
        found.bit_generator.state = state


def _new(kind: str) -> Any:
    if kind == "random":
        return random.Random(0)
    if kind == "torch":
        import torch

        return torch.Generator()
    import numpy

    if kind == "RandomState":
        return numpy.random.RandomState(0)
    if kind not in _BIT_GENERATORS:
        raise ValueError(f"{kind!r} is not a kind of random generator")
    return numpy.random.Generator(getattr(numpy.random, kind)(0))


def _put(roots: dict[str, Any], path: Path, found: Any) -> None:
    """Where the code that made it on another worker would have put it."""
    owner: Any = roots
    for step in path[:-1]:
        owner = _step(owner, step)
    last = path[-1]
    if isinstance(owner, dict | list):
        owner[last] = found
    else:
        setattr(owner, last, found)


def _step(owner: Any, step: Any) -> Any:
    if isinstance(step, tuple):
        return owner.__closure__[step[1]]
    if isinstance(owner, dict | list | tuple):
        return owner[step]
    return getattr(owner, step)
