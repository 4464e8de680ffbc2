"""A transform that makes several pictures of one: each of them is a step of its own."""

from collections.abc import Callable
from typing import Any

from ..records import dataclass
from .collate import name_of
from .kinds import kind_of
from .plan import Node, NotNative

_FIVE = 5  # the corners and the middle
_FIVE_CROPS = ("v1.FiveCrop", "v2.FiveCrop")
KINDS = (*_FIVE_CROPS, "v1.TenCrop", "v2.TenCrop")


@dataclass(frozen=True)
class Part:
    """Entry `number` of the tuple that F.five_crop makes for the transform `of`."""

    of: Any
    number: int


@dataclass(frozen=True)
class Flipped:
    """The picture that the TenCrop `of` crops for its second five."""

    of: Any


def makes_several(transform: Any) -> bool:
    return kind_of(transform) in KINDS


def pictures(transform: Any, image: Any, apply: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    """What the transform makes of the image, of which makes_several; apply(step, image) makes one
    step, in torchvision's order."""
    made = tuple(apply(Part(transform, part), image) for part in range(_FIVE))
    if kind_of(transform) in _FIVE_CROPS:
        return made
    flipped = apply(Flipped(transform), image)
    return made + tuple(apply(Part(transform, part), flipped) for part in range(_FIVE))


def node(step: Part | Flipped, size: Any) -> Node:
    if isinstance(step, Part):
        label = f"{step.of!r}[{step.number}]"
        return Node("five_crop", {"size": size, "part": step.number}, label=label)
    vertical = step.of.vertical_flip
    if type(vertical) not in (bool, int):
        raise NotNative(f"{name_of(step.of)} has vertical_flip={vertical!r}")
    axis = "vertical" if vertical else "horizontal"
    return Node("flip", {"axis": axis}, label=f"{step.of!r}, flipped")
