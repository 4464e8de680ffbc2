"""Transforms that hold others and draw which of them run, and in which order."""

from collections.abc import Callable
from typing import Any

from .arguments import floats, probability
from .kinds import kind_of
from .plan import RANDOM, Node


def gate_of(transform: Any, parts: list[int]) -> Node:
    """The node of a transform that holds others. `parts`: how many nodes each of them has."""
    return GATES[kind_of(transform) or ""](transform, parts)


def _random_apply(api: int) -> Callable[[Any, list[int]], Node]:
    def convert(t: Any, parts: list[int]) -> Node:
        args = {"p": probability(t), "nodes": sum(parts), "api": api}
        return Node("random_apply", args, RANDOM, f"RandomApply(p={t.p})")

    return convert


def _random_order(t: Any, parts: list[int]) -> Node:
    return Node("random_order", {"parts": parts}, RANDOM, "RandomOrder()")


def _random_order_v1(t: Any, parts: list[int]) -> Node:
    return Node("random_order", {"parts": parts, **_FROM_PYTHON}, RANDOM, "RandomOrder()")


def _random_choice(t: Any, parts: list[int]) -> Node:
    args = {"parts": parts, **_FROM_PYTHON}
    if t.p is not None:
        args["weights"] = floats(t.p)
    return Node("random_choice", args, RANDOM, "RandomChoice()")


# v1's RandomOrder and RandomChoice draw from Python's generator. v2's RandomChoice has no native
# form: it draws by torch.multinomial, whose draws are MKL's.
_FROM_PYTHON = {"generator": "python"}
GATES: dict[str, Callable[[Any, list[int]], Node]] = {
    "v1.RandomApply": _random_apply(1),
    "v2.RandomApply": _random_apply(2),
    "v1.RandomChoice": _random_choice,
    "v1.RandomOrder": _random_order_v1,
    "v2.RandomOrder": _random_order,
}
