"""torch.stack of what transforms made of the picture: one tensor of the sample's."""

from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Any

import torch

from ...records import dataclass
from .follower import Follower, Step
from .values import Image, Special, Stop, is_sequence, name
from .views import SOURCE

# What they make differs in shape and type wherever what they get does.
_KEEP_DIFFERENCES = ("Normalize", "Identity")


@dataclass(frozen=True, eq=False)
class Stacked(Special):
    """`parts`: the steps whose tensors were joined."""

    parts: tuple[int, ...]
    called = "what torch.stack made"

    def entries(self, f: Any) -> Iterator[Any]:
        """A tensor's entries along its first dimension, which are the parts again."""
        return map(Image, self.parts)


def is_stack(thing: Any) -> bool:
    """Whether it is torch.stack itself. That it was not replaced is the client's to look at."""
    own = getattr(torch._C._VariableFunctions, "stack", None)
    return type(thing) is BuiltinFunctionType and thing == own


def stacked_of(args: list[Any], named: dict[str, Any]) -> Any:
    """What torch.stack(*args, **named) is to stack along the first dimension. Raises Stop."""
    given = dict(zip(("tensors", "dim"), args, strict=False))
    if len(args) > 2 or set(given) & set(named) or set(named) - {"tensors", "dim"}:
        raise Stop("calls torch.stack with arguments that are not followed")
    given |= named
    dim = given.get("dim", 0)
    if type(dim) is not int or dim != 0:
        raise Stop("calls torch.stack along another dimension than the first")
    return given.get("tensors")


def call(f: Follower, args: list[Any], named: dict[str, Any]) -> Stacked:
    """torch.stack(*args, **named). Raises Stop."""
    tensors = stacked_of(args, named)
    if not is_sequence(tensors):
        raise Stop(f"calls torch.stack with {name(tensors)}, not with a list or tuple")
    parts = f.items(tensors)
    if not parts:
        raise Stop("calls torch.stack with nothing")
    if other := [part for part in parts if type(part) is not Image]:
        raise Stop(f"calls torch.stack with {name(other[0])} in the list")
    if any(part.step <= SOURCE for part in parts):
        raise Stop("calls torch.stack with the picture itself, a PIL image")
    made = Stacked(tuple(part.step for part in parts))
    f.stacks.append(made)
    return made


def check_returned(f: Follower, returned: list[Stacked]) -> None:
    """Tensors of different shapes or types are refused by torch.stack, or changed. The workers see
    that of stacks that are returned. So each other one must go on, part by part, into one that is."""
    good = list(returned)
    for stack in reversed(f.stacks):
        if any(stack is one for one in good):
            continue
        if not any(_goes_on(f.steps, stack, later) for later in good):
            raise Stop("joins tensors by torch.stack and does not return what it makes")
        good.append(stack)


def _goes_on(steps: list[Step], stack: Stacked, later: Stacked) -> bool:
    return len(stack.parts) == len(later.parts) and all(
        _leads_to(steps, *pair) for pair in zip(stack.parts, later.parts, strict=True)
    )


def _leads_to(steps: list[Step], start: int, end: int) -> bool:
    while end > start:
        if type(steps[end].transform).__name__ not in _KEEP_DIFFERENCES:
            return False
        end = steps[end].of
    return end == start
