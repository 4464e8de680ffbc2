"""Decisions by what the followed code draws: `if random.random() < 0.5: image = TF.hflip(image)`.

The body is followed once. What it does to each picture becomes a gate and the nodes that it governs.
Everything else that it changes ends the following.
"""

import ast
import math
from typing import Any

import numpy as np

from ...native.nodes import nodes_of_leaf
from ...native.plan import PURE, RANDOM, Node
from .comparisons import ORDER
from .follower import Follower, Frame
from .joint import sort_of
from .numbers import PYTHON, Number, Picked, Uniform, few, use
from .places import changed_in, places_of
from .values import Image, Special, Stop, is_constant, name
from .views import Known, Together

_SWAPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_WHEN = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_OF_V2 = {"lt": 2, "le": 1}  # what api alone says
_MOST_INTEGER = 1 << 53


class Chance(Special):
    """Something that a number that is drawn decides. `args`: of the gate, which say when its nodes
    run. `text`: the decision, for people."""

    called = "what is drawn"

    def __init__(self, number: int, args: dict[str, Any], text: str) -> None:
        self.number, self.args, self.text = number, args, text


def compared(op: ast.cmpop, left: Any, right: Any) -> Chance | None:
    """left op right; None: neither is a number that is drawn."""
    kind: Any = type(op)
    if isinstance(right, Number):
        left, right, kind = right, left, _SWAPPED.get(kind, kind)
    if not isinstance(left, Number):
        return None
    if type(left) is Picked and is_constant(right) and kind in ORDER:
        return _of_cases(left, [ORDER[kind](one, right) for one in few(left)])
    if type(right) not in (int, float) or math.isnan(right) or kind not in _WHEN:
        raise Stop(f"compares {left.called} with {name(right)}")
    if type(left) is not Uniform:
        raise Stop("decides by a number that random.uniform draws", "random.random() < p")
    when = _WHEN[kind]
    if left.generator == PYTHON:
        if type(right) is int and abs(right) > _MOST_INTEGER:
            raise Stop(f"compares {left.called} with {right}")
        args = {"p": float(right), "api": 1, "when": when, "generator": PYTHON}
        return Chance(left.number, args, f"if random.random() {_SIGNS[when]} {right}")
    p = _single(right, kind) if left.as_float else float(np.float32(right))
    args = {"p": p, "api": _OF_V2.get(when, 1)}
    if when not in _OF_V2:
        args["when"] = when
    return Chance(left.number, args, f"if torch.rand(1) {_SIGNS[when]} {p}")


_SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _single(p: float, kind: Any) -> float:
    """The float32 by which each float32 is decided as by p."""
    nearest = np.float32(p)
    if kind in (ast.Lt, ast.GtE) and float(nearest) < p:
        return float(np.nextafter(nearest, np.float32(np.inf)))
    if kind in (ast.LtE, ast.Gt) and float(nearest) > p:
        return float(np.nextafter(nearest, np.float32(-np.inf)))
    return float(nearest)


def decided(value: Any) -> Chance | None:
    """`if value`; None: it is no number that is drawn."""
    if type(value) is Picked:
        return _of_cases(value, [bool(one) for one in few(value)])
    return value if isinstance(value, Chance) else None


def _of_cases(number: Picked, holds: list[bool]) -> Chance:
    args = {"p": 0.0, "api": 1, "cases": [int(one) for one in holds], "generator": PYTHON}
    return Chance(number.number, args, f"if one of {len(holds)} that random draws")


def opposite(chance: Chance) -> Chance:
    """not chance"""
    args = dict(chance.args)
    if "cases" in args:
        args["cases"] = [1 - one for one in args["cases"]]
    else:
        when = args.pop("when", None) or ("lt" if args["api"] == 2 else "le")
        args["when"] = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[when]
        args["api"] = 1
    return Chance(chance.number, args, f"{chance.text}: not")


def gated(f: Follower, frame: Frame, node: ast.If, chance: Chance, block: Any) -> None:
    """What `if chance: body` does. `block`: statements.block. Raises Stop."""
    if node.orelse:
        raise Stop("has an else where what is drawn decides")
    use(f, chance.number)
    start = len(f.steps)
    drawn = [one.is_used for one in f.drawings.values()]
    before, beside = places_of(frame), f.count_beside()
    if block(f, frame, node.body) is not None:
        raise Stop("leaves the block where what is drawn decides")
    if [one.is_used for one in f.drawings.values()] != drawn:
        raise Stop("draws where what was drawn decides")
    if f.count_beside() != beside:
        raise Stop("changes more than the picture where what is drawn decides")
    made: dict[int, tuple[int, list[Any]]] = {}
    changed = changed_in(f, frame, before, start, "where what is drawn decides")
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
    gate = Node("random_apply", {**chance.args, "nodes": len(nodes)}, RANDOM, chance.text)
    held = tuple(done.transform if type(done) is Together else done for done in way)
    held = tuple(one for one in held if type(one) is not Known)
    done = Together(held, (gate, *nodes), chance.number, sort)
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
