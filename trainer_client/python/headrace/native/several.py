"""A transform that makes several pictures of one: each of them is a step of its own."""

from dataclasses import dataclass
from typing import Any

from .plan import Node

PARTS = {"v1.FiveCrop": 5, "v2.FiveCrop": 5}  # how many pictures, by the kind of the transform


@dataclass(frozen=True)
class Part:
    """Entry `number` of the tuple that the transform `of` makes, whose kind is in PARTS."""

    of: Any
    number: int


def node(part: Part, size: Any) -> Node:
    label = f"{part.of!r}[{part.number}]"
    return Node("five_crop", {"size": size, "part": part.number}, label=label)
