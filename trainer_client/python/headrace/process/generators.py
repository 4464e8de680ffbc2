"""Random generators that user code keeps itself: numpy's, random.Random, torch.Generator.

They belong to the state of a lane, as the global ones do: albumentations draws from its own, and so do
many datasets with a `self.rng`. They are looked for at each batch, because worker_init_fn and
__getitem__ may make new ones, in what the pipeline holds: attributes, containers, closures, bound
methods, and the global names that the program's own functions use. Where one is not there yet in the
host that goes on with the lane, it is put there.

A found generator is described by plain values, because a state may come out of a checkpoint file:
    (kind, state, places)    a place is a path of steps from one of the pipeline's parts
"""

import functools
import random
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

# What a pipeline is made of; a list of file names holds no generators.
LARGEST_CONTAINER = 100
MOST_OBJECTS = 3000

Path = tuple[tuple[str, Any], ...]
_FUNCTION = types.FunctionType
_LEAVES = (str, bytes, int, float, complex, type(None), types.ModuleType, types.BuiltinFunctionType)


def states_of(parts: dict[str, Any]) -> list[tuple[str, Any, list[Path]]]:
    found: dict[int, tuple[Any, list[Path]]] = {}
    for path, generator in _generators(parts):
        found.setdefault(id(generator), (generator, []))[1].append(path)
    return [(*describe(generator), places) for generator, places in found.values()]


def found_in(parts: dict[str, Any]) -> list[Any]:
    return [generator for _, generator in _generators(parts)]


def set_states(parts: dict[str, Any], states: list[tuple[str, Any, list[Path]]]) -> None:
    """Raises ValueError where the pipeline is another one."""
    for kind, state, places in states:
        here = [_follow(parts, path) for path in places]
        known = {id(g): g for g in here if is_generator(g) and describe(g)[0] == kind}
        generators = list(known.values()) or [_make(kind)]
        for generator in generators:
            _set(generator, state)
        for path, generator in zip(places, here, strict=True):
            if id(generator) not in known:
                _put(_follow(parts, path[:-1]), path[-1], generators[0])


def seed(parts: dict[str, Any], number: int) -> None:
    """Starts each from a number: any host that makes the sample draws the same."""
    for i, (_, generator) in enumerate(_once(parts)):
        if isinstance(generator, random.Random):
            generator.seed(number + i)
        elif type(generator).__module__ == "torch._C":
            generator.manual_seed(number + i)
        elif type(generator) is _numpy_random().Generator:
            bits = generator.bit_generator
            bits.state = type(bits)(number + i).state
        else:
            generator.seed((number + i) & 0xFFFFFFFF)


def _once(parts: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Each by the first path to it."""
    seen: set[int] = set()
    for path, generator in _generators(parts):
        if id(generator) not in seen:
            seen.add(id(generator))
            yield path, generator


def _generators(parts: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Each with every path to it. Nearest first."""
    global _walk
    if _walk is None or _walk.parts is not parts or not _walk.holds():
        _walk = _Walk(parts)
    return iter(_walk.found)


class _Walk:
    """What a pipeline holds, as it was when it was walked. Looks at each object again in much less time
    than a walk takes: where none holds anything else, the generators are where they were."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts
        self.found: list[tuple[Path, Any]] = []
        # Objects, what looks into their kind, and what it saw there: see _sight.
        self._seen: list[tuple[Any, Callable[[Any], Any], Any]] = []
        known: set[int] = set()
        queue: deque[tuple[Path, Any]] = deque([((), parts)])
        while queue and len(known) < MOST_OBJECTS:
            path, value = queue.popleft()
            if is_generator(value):
                self.found.append((path, value))
                continue
            if isinstance(value, _LEAVES) or id(value) in known:
                continue
            known.add(id(value))
            look = _look_into(value)
            self._seen.append((value, look, _sight(look(value))))
            queue.extend(((*path, step), item) for step, item in _children(value))

    def holds(self) -> bool:
        try:
            return all(_same(look(value), *sight) for value, look, sight in self._seen)
        except Exception:  # names that have no == without an error
            return False


# Names in an object, and what it holds under them.
_Look = tuple[list[Any], list[Any]]


def _sight(look: _Look) -> tuple[list[Any], list[type], list[tuple[int, Any]]]:
    """The part of a look to remember: the objects that may hold something themselves, and the kinds
    of all others. No other object gets the address of one that is kept."""
    names, items = look
    kept = [(i, item) for i, item in enumerate(items) if not isinstance(item, _LEAVES)]
    return list(names), list(map(type, items)), kept


def _same(look: _Look, names: list[Any], kinds: list[type], kept: list[tuple[int, Any]]) -> bool:
    here, items = look
    return (
        list(map(type, items)) == kinds
        and here == names
        and all(items[i] is item for i, item in kept)
    )


def _look_into(value: Any) -> Callable[[Any], _Look]:
    """What _children() of that kind of object looks at, with less work."""
    if isinstance(value, dict):
        return _in_dict
    if isinstance(value, list | tuple):
        return _in_list
    if isinstance(value, types.MethodType | functools.partial):
        return _in_children
    if isinstance(value, _FUNCTION):
        return _in_function
    return _in_class if isinstance(value, type) else _in_object


def _in_dict(value: Any) -> _Look:
    return (list(value), list(value.values())) if len(value) <= LARGEST_CONTAINER else ([], [])


def _in_list(value: Any) -> _Look:
    return [], list(value) if len(value) <= LARGEST_CONTAINER else []


def _in_children(value: Any) -> _Look:
    return [], [item for _, item in _children(value)]


def _in_class(value: Any) -> _Look:
    space = vars(value)
    return list(space), list(space.values())


def _in_function(value: Any) -> _Look:
    names, items = [], []
    for step, item in _of_function(value):
        names.append(step)
        items.append(item)
    return names, items


def _in_object(value: Any) -> _Look:
    space = getattr(value, "__dict__", {})
    names, items = list(space), list(space.values())
    items.append(type(value))
    for name in _slots(type(value)):
        items.append(getattr(value, name, None))
    return names, items


_walk: _Walk | None = None  # the last one; a host has one pipeline


def _children(value: Any) -> Iterator[tuple[tuple[str, Any], Any]]:
    if isinstance(value, dict):
        if len(value) <= LARGEST_CONTAINER:
            for key, item in value.items():
                if isinstance(key, str | int):
                    yield ("item", key), item
    elif isinstance(value, list | tuple):
        if len(value) <= LARGEST_CONTAINER:
            for index, item in enumerate(value):
                yield ("item", index), item
    elif isinstance(value, types.MethodType):
        yield ("attribute", "__self__"), value.__self__
    elif isinstance(value, functools.partial):
        yield from ((("attribute", n), getattr(value, n)) for n in ("func", "args", "keywords"))
    elif isinstance(value, _FUNCTION):
        yield from _of_function(value)
    elif isinstance(value, type):
        for name, item in list(vars(value).items()):
            if isinstance(item, _FUNCTION) or is_generator(item):
                yield ("attribute", name), item
    else:
        for name, item in list(getattr(value, "__dict__", {}).items()):
            yield ("attribute", name), item
        for name in _slots(type(value)):
            yield ("attribute", name), getattr(value, name, None)
        for number, cls in enumerate(type(value).__mro__):
            if _came_by_value(cls):
                yield ("class", number), cls


def _slots(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        names = vars(base).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if not name.startswith("__"):
                yield name


def _of_function(function: Any) -> Iterator[tuple[tuple[str, Any], Any]]:
    for number, cell in enumerate(function.__closure__ or ()):
        try:
            yield ("cell", number), cell.cell_contents
        except ValueError:
            continue  # not filled yet
    for name in function.__code__.co_names if _came_by_value(function) else ():
        item = function.__globals__.get(name)
        if isinstance(item, _FUNCTION) or is_generator(item):
            yield ("global", name), item


def _came_by_value(named: Any) -> bool:
    """The program's own class or function: no module of this process has it."""
    return not hasattr(sys.modules.get(named.__module__ or ""), named.__qualname__.split(".")[0])


def _step(value: Any, step: tuple[str, Any]) -> Any:
    kind, name = step
    if kind == "item":
        return value[name]
    if kind == "attribute":
        return vars(value)[name] if isinstance(value, type) else getattr(value, name)
    if kind == "cell":
        return value.__closure__[name].cell_contents
    if kind == "class":
        return type(value).__mro__[name]
    return value.__globals__[name]


def _follow(parts: dict[str, Any], path: Path) -> Any:
    """None: it does not lead anywhere yet."""
    value: Any = parts
    try:
        for step in path:
            value = _step(value, step)
    except (AttributeError, LookupError, TypeError, ValueError):
        return None
    return value


def _put(owner: Any, step: tuple[str, Any], generator: Any) -> None:
    kind, name = step
    if kind == "item" and isinstance(owner, dict | list):
        owner[name] = generator
    elif kind == "attribute" and owner is not None:
        setattr(owner, name, generator)
    elif kind == "cell" and owner is not None:
        owner.__closure__[name].cell_contents = generator
    elif kind == "global" and owner is not None:
        owner.__globals__[name] = generator
    else:
        raise ValueError(f"the state of a lane has a random generator at {step}, and here is none")


def _numpy_random() -> Any:
    return sys.modules.get("numpy.random")


def is_generator(value: Any) -> bool:
    kind = type(value)
    if kind is random.Random:
        return True
    module = kind.__module__
    if module.startswith("numpy.random"):
        numpy_random = _numpy_random()
        of_all = numpy_random.mtrand._rand  # numpy.random's own
        return kind in (numpy_random.Generator, numpy_random.RandomState) and value is not of_all
    if module == "torch._C" and kind.__name__ == "Generator":
        return value.device.type == "cpu" and value is not sys.modules["torch"].default_generator
    return False


def describe(generator: Any) -> tuple[str, Any]:
    if isinstance(generator, random.Random):
        return "random", generator.getstate()
    if type(generator).__module__ == "torch._C":
        return "torch", generator.get_state().numpy().tobytes()
    if type(generator) is _numpy_random().Generator:
        state = generator.bit_generator.state
        return f"Generator {state['bit_generator']}", state
    return "RandomState", generator.get_state(legacy=False)


def _set(generator: Any, state: Any) -> None:
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif type(generator).__module__ == "torch._C":
        import torch

        generator.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif type(generator) is _numpy_random().Generator:
        generator.bit_generator.state = state
    else:
        generator.set_state(state)


def _make(kind: str) -> Any:
    if kind == "random":
        return random.Random()
    if kind == "torch":
        import torch

        return torch.Generator()
    import numpy.random

    if kind == "RandomState":
        return numpy.random.RandomState()
    name = kind.removeprefix("Generator ")
    if name not in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"):
        raise ValueError(f"{kind!r} is not a kind of random generator")
    return numpy.random.Generator(getattr(numpy.random, name)())
