"""Numbers that the followed code draws: by torch.rand(1), and by Python's random.

A number is drawn where the code says, and used by the steps after that. In the plan the first of these
steps draws it. So the steps of one generator must come in the order of their numbers: what else would be
drawn between ends the following.
"""

import random
from collections.abc import Callable
from types import BuiltinFunctionType, MethodType
from typing import Any

import torch

from ...native.nodes import nodes_of_leaf
from ...native.plan import PURE, Node, NotNative
from ...native.python_random import own_functions
from ...native.several import Flipped, Part
from ...records import dataclass
from .follower import Follower
from .values import Special, Stop, is_constant, is_sequence, name
from .views import Known, Together

TORCH, PYTHON = "torch", "python"
_MOST_OPTIONS = 1_000


@dataclass
class Drawing:
    """steps: how many there were when it was drawn. is_used: a step draws it."""

    generator: str
    steps: int
    is_used: bool = False


class Number(Special):
    """`call`: what is drawn, by its number among the calls."""

    called = "a number that is drawn"

    def __init__(self, call: int) -> None:
        self.number = call


class Uniform(Number):
    """In [0, 1): torch.rand(1), or random.random(). `as_float`: compared as float64."""

    def __init__(self, call: int, generator: str, as_float: bool) -> None:
        super().__init__(call)
        self.generator, self.as_float = generator, as_float

    def attribute(self, f: Any, of: str) -> Any:
        return _Item(self) if of == "item" and not self.as_float else super().attribute(f, of)


class _Item(Special):
    called = "item of a number that is drawn"

    def __init__(self, of: Uniform) -> None:
        self._of = of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        if args or named:
            raise Stop("calls item with arguments")
        return Uniform(self._of.number, self._of.generator, as_float=True)


class Between(Number):
    """random.uniform(low, high)"""

    def __init__(self, call: int, low: float, high: float) -> None:
        super().__init__(call)
        self.low, self.high = low, high


class Picked(Number):
    """One of some numbers, each as likely: random.choice, randint and randrange."""

    def __init__(self, call: int, options: Any) -> None:
        super().__init__(call)
        self.options = options  # a list or range


def is_rand(thing: Any) -> bool:
    return type(thing) is BuiltinFunctionType and thing is vars(torch).get("rand")


def rand(f: Follower, args: list[Any], named: dict[str, Any]) -> Uniform:
    """torch.rand(1)"""
    if args != [1] or type(args[0]) is not int or named:
        raise Stop("calls torch.rand with other than 1")
    return Uniform(_draw(f, TORCH), TORCH, as_float=False)


def rule_of(thing: Any) -> Callable[..., Any] | None:
    """What a call of this function of Python's random does; None: it is none of them, which are
    methods of one object."""
    if type(thing) not in (BuiltinFunctionType, MethodType):
        return None
    if thing.__self__ is not vars(random).get("_inst"):
        return None
    rule = _RULES.get(thing.__name__)
    if thing != getattr(thing.__self__, thing.__name__, None):
        return None
    return None if rule is None else lambda f, args, named: rule(f, thing, args, named)


def _draw(f: Follower, generator: str) -> int:
    number = f.next_call()
    f.drawings[number] = Drawing(generator, len(f.steps))
    return number


def _check_pythons(f: Follower, thing: Any) -> None:
    f.seen.read(("random", thing.__name__), lambda: own_functions(thing.__name__))
    if own_functions(thing.__name__) is None:
        raise Stop(
            f"calls random.{thing.__name__}, where the program has replaced a part of random"
        )


def _random(f: Follower, thing: Any, args: list[Any], named: dict[str, Any]) -> Uniform:
    _check_pythons(f, thing)
    if args or named:
        raise Stop("calls random.random with arguments")
    return Uniform(_draw(f, PYTHON), PYTHON, as_float=True)


def _uniform(f: Follower, thing: Any, args: list[Any], named: dict[str, Any]) -> Number:
    _check_pythons(f, thing)
    low, high = _given(thing, ("a", "b"), args, named, (int, float))
    if (low, high) == (0, 1):  # 0 + (1 - 0) * random()
        return Uniform(_draw(f, PYTHON), PYTHON, as_float=True)
    return Between(_draw(f, PYTHON), float(low), float(high))


def _randint(f: Follower, thing: Any, args: list[Any], named: dict[str, Any]) -> Picked:
    _check_pythons(f, thing)
    low, high = _given(thing, ("a", "b"), args, named, (int,))
    return _picked(f, thing, range(low, high + 1))


def _randrange(f: Follower, thing: Any, args: list[Any], named: dict[str, Any]) -> Picked:
    _check_pythons(f, thing)
    if named or not 1 <= len(args) <= 3 or any(type(one) is not int for one in args):
        raise Stop("calls random.randrange with other than integers")
    if len(args) == 3 and not args[2]:
        raise Stop("calls random.randrange with a step of 0")
    return _picked(f, thing, range(*args))


def _choice(f: Follower, thing: Any, args: list[Any], named: dict[str, Any]) -> Picked:
    _check_pythons(f, thing)
    if len(args) != 1 or named:
        raise Stop("calls random.choice with other than one container")
    (options,) = args
    if type(options) is not range:
        options = list(f.items(options)) if is_sequence(options) else None
    if options is None or not all(type(one) in (int, float, bool) for one in options):
        raise Stop(f"calls random.choice with other than numbers: {name(args[0])}")
    return _picked(f, thing, options)


def _picked(f: Follower, thing: Any, options: Any) -> Picked:
    if not 1 <= len(options) < 1 << 31:
        raise Stop(f"calls random.{thing.__name__} where there is nothing to choose")
    return Picked(_draw(f, PYTHON), options)


def _given(
    thing: Any, takes: tuple[str, ...], args: list[Any], named: dict[str, Any], kinds: Any
) -> list[Any]:
    given = {**dict(zip(takes, args, strict=False)), **named}
    if len(args) + len(named) != len(takes) or set(given) != set(takes):
        raise Stop(f"calls random.{thing.__name__} with arguments that do not fit")
    if any(type(one) not in kinds or not is_constant(one) for one in given.values()):
        raise Stop(f"calls random.{thing.__name__} with {name(next(iter(given.values())))}")
    return [given[key] for key in takes]


_RULES: dict[str, Callable[..., Number]] = {
    "random": _random,
    "uniform": _uniform,
    "randint": _randint,
    "randrange": _randrange,
    "choice": _choice,
}


def few(number: Picked) -> list[Any]:
    """All of them. Raises Stop."""
    if len(number.options) > _MOST_OPTIONS:
        raise Stop(f"chooses of more than {_MOST_OPTIONS:,} numbers")
    return list(number.options)


def use(f: Follower, number: int) -> None:
    """The step that comes next uses this number: it draws it, where none did before. Raises Stop."""
    drawn = f.drawings[number]
    if drawn.is_used:
        return
    drawn.is_used = True
    for other, before in f.drawings.items():
        if other < number and before.generator == drawn.generator and not before.is_used:
            raise Stop("uses a number before one that it has drawn earlier")
    for step in f.steps[drawn.steps :]:
        done = step.transform
        if type(done) is Together and done.call < number and done.call in f.drawings:
            continue  # it draws that one, which was earlier
        if drawn.generator in generators_of(done):
            raise Stop("draws more between drawing a number and using it")


def generators_of(done: Any) -> set[str]:
    """What a step draws from."""
    if type(done) is Together:
        nodes = list(done.nodes)
        if not nodes:
            return {TORCH}  # get_params
    elif type(done) in (Part, Flipped):
        return set()
    else:
        try:
            nodes = [done.node] if type(done) is Known else nodes_of_leaf(done)
        except NotNative:  # nothing that is made of this step is native
            return {TORCH, PYTHON}
    return {_generator_of(node) for node in nodes if node.purity != PURE}


def _generator_of(node: Node) -> str:
    return PYTHON if node.args.get("generator") == PYTHON else TORCH


def check_used(f: Follower) -> None:
    """Raises Stop where a number is drawn for nothing: a native form would not draw it."""
    if any(not drawn.is_used for drawn in f.drawings.values()):
        raise Stop("draws a number and does not use it, to decide or for a picture")
