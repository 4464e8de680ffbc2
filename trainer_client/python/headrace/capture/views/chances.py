"""Decisions by what the followed code draws: `if torch.rand(1) < 0.5: image = TF.hflip(image)`.

The body is followed once. What it does to each picture becomes a gate and the nodes that it governs.
Everything else that it changes ends the following. A source of random numbers is a Uniform: another one
than torch's would be a subclass with a gate of its own.
"""

import ast
import math
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import torch

from ...native.plan import PURE, RANDOM, Node
from ...native.transforms import nodes_of_leaf
from .follower import Follower, Frame
from .joint import sort_of
from .values import Image, Special, Stop, name
from .views import Known, Together

_SWAPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


class Uniform(Special):
    """torch.rand(1); `as_float`: its .item(), which Python compares as float64. `call`: the number of
    what is drawn. `steps`: how many there were when it was drawn."""

    called = "a number that is drawn"

    def __init__(self, call: int, steps: int, as_float: bool = False) -> None:
        self.number, self.steps, self.as_float = call, steps, as_float

    def attribute(self, f: Any, of: str) -> Any:
        return _Item(self) if of == "item" and not self.as_float else super().attribute(f, of)


class _Item(Special):
    called = "item of a number that is drawn"

    def __init__(self, of: Uniform) -> None:
        self._of = of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        if args or named:
            raise Stop("calls item with arguments")
        return Uniform(self._of.number, self._of.steps, as_float=True)


class Chance(Special):
    """Whether a number that is drawn is below `p`; with `api` 1 it may be equal."""

    called = "what is drawn"

    def __init__(self, of: Uniform, p: float, api: int) -> None:
        self.of, self.p, self.api = of, p, api


def is_rand(thing: Any) -> bool:
    return type(thing) is BuiltinFunctionType and thing is vars(torch).get("rand")


def draw(f: Follower, args: list[Any], named: dict[str, Any]) -> Uniform:
    """torch.rand(1)"""
    if args != [1] or type(args[0]) is not int or named:
        raise Stop("calls torch.rand with other than 1")
    made = Uniform(f.next_call(), len(f.steps))
    f.chances[made.number] = False
    return made


def compared(op: ast.cmpop, left: Any, right: Any) -> Chance | None:
    """left op right; None: neither is a number that is drawn."""
    kind: Any = type(op)
    if isinstance(right, Uniform):
        left, right, kind = right, left, _SWAPPED.get(kind)
    if not isinstance(left, Uniform):
        return None
    if type(right) not in (int, float) or math.isnan(right) or kind not in _SWAPPED:
        raise Stop(f"compares {left.called} with {name(right)}")
    if kind not in (ast.Lt, ast.LtE):
        raise Stop(
            "decides by a number that is drawn being larger than another",
            "torch.rand(1) < p",
        )
    p = float(np.float32(right))
    if left.as_float and kind is ast.Lt and p < right:
        p = float(np.nextafter(np.float32(p), np.float32(np.inf)))
    if left.as_float and kind is ast.LtE and p > right:
        p = float(np.nextafter(np.float32(p), np.float32(-np.inf)))
    return Chance(left, p, 2 if kind is ast.Lt else 1)


def gated(f: Follower, frame: Frame, node: ast.If, chance: Chance, block: Any) -> None:
    """What `if chance: body` does. `block`: statements.block. Raises Stop."""
    if node.orelse:
        raise Stop("has an else where what is drawn decides")
    if not f.chances[chance.of.number] and chance.of.steps != len(f.steps):
        raise Stop("does more between drawing a number and deciding by it")
    f.chances[chance.of.number] = True
    start = len(f.steps)
    drawn = len(f.chances)
    before = _places(frame)
    if block(f, frame, node.body) is not None:
        raise Stop("leaves the block where what is drawn decides")
    if len(f.chances) != drawn:
        raise Stop("draws where what was drawn decides")
    made: dict[int, tuple[int, list[Any]]] = {}
    changed = _changed(f, frame, before, start)
    for _, _, old, new in changed:
        made[new.step] = old.step, _way(f, start, old.step, new.step)
    used = sum(len(way) for _, way in made.values())
    if used != len(f.steps) - start or not made:
        raise Stop("computes more than one new picture of each where what is drawn decides")
    parts = {now: (was, way, sort_of(f, Image(now))) for now, (was, way) in sorted(made.items())}
    del f.steps[start:]
    for number in [number for number in f.sorts if number >= start]:
        del f.sorts[number]
    place = frame.place(node)
    images = {now: _gate(f, chance, *parts[now], place) for now in parts}
    for container, key, _, new in changed:
        container[key] = images[new.step]


def _gate(f: Follower, chance: Chance, was: int, way: list[Any], sort: Any, place: str) -> Image:
    if sort_of(f, Image(was)) != sort:
        raise Stop("makes another type where what is drawn decides")
    nodes = [node for done in way for node in _nodes(done)]
    if any(node.purity != PURE for node in nodes):
        raise Stop("draws where what was drawn decides")
    args = {"p": chance.p, "nodes": len(nodes), "api": chance.api}
    gate = Node("random_apply", args, RANDOM, f"if torch.rand(1) < {chance.p}")
    held = tuple(done.transform if type(done) is Together else done for done in way)
    held = tuple(one for one in held if type(one) is not Known)
    done = Together(held, (gate, *nodes), chance.of.number, sort)
    return f.add(done, Image(was), place)


def _nodes(done: Any) -> list[Node]:
    if type(done) is Together:
        return list(done.nodes)
    return [done.node] if type(done) is Known else nodes_of_leaf(done)


def _way(f: Follower, start: int, was: int, now: int) -> list[Any]:
    """What is done to the picture between these steps, all of it new."""
    way: list[Any] = []
    while now != was:
        if now < start:
            raise Stop("takes another picture where what is drawn decides")
        way.append(f.steps[now].transform)
        now = f.steps[now].of
    return way[::-1]


def _places(frame: Frame) -> list[tuple[Any, Any]]:
    """All containers of the code's own that the body may reach, with copies of them."""
    found: dict[int, tuple[Any, Any]] = {}
    here: Frame | None = frame
    while here is not None:
        _collect(here.names, found)
        here = here.outer
    return list(found.values())


def _collect(value: Any, found: dict[int, tuple[Any, Any]]) -> None:
    if type(value) not in (list, dict, tuple) or id(value) in found:
        return
    found[id(value)] = value, type(value)(value)
    for part in value.values() if type(value) is dict else value:
        _collect(part, found)


def _changed(
    f: Follower, frame: Frame, before: list[tuple[Any, Any]], start: int
) -> list[tuple[Any, Any, Image, Image]]:
    """The places that hold other pictures than before. Names that are new are forgotten."""
    changed = []
    for container, copied in before:
        if type(container) is tuple:
            continue
        if container is frame.names:
            for key in set(container) - set(copied):
                del container[key]
        keys = _keys(container)
        if keys != _keys(copied):
            raise Stop("changes a container where what is drawn decides")
        for key in keys:
            was, now = copied[key], container[key]
            if was is now:
                continue
            was = f.picture(was)
            if type(was) is not Image or type(now) is not Image or now.step < start:
                raise Stop(f"sets {key} where what is drawn decides")
            changed.append((container, key, was, now))
    return changed


def _keys(container: Any) -> list[Any]:
    return list(container) if type(container) is dict else list(range(len(container)))
