"""What the followed code makes of a picture's size: pad_if_smaller, as in torchvision's references.

    if min(image.size) < size:
        width, height = image.size
        across = size - width if width < size else 0
        down = size - height if height < size else 0
        image = F.pad(image, (0, 0, across, down), fill=fill)

The size is known for each sample alone. So a decision by it is followed where nothing would change if it
fell the other way: a picture that is large enough is not padded.
"""

import ast
from typing import Any

from ...native import joint as sorts
from ...native.plan import Node
from ...records import dataclass
from .follower import Follower, Frame
from .joint import sort_of
from .places import changed_in, places_of
from .values import Image, Special, Stop
from .views import Known

WIDTH, HEIGHT = 0, 1


@dataclass(frozen=True)
class Sides(Special):
    """The shortest of these sides of the picture. `step`: the picture's."""

    step: int
    axes: tuple[int, ...]
    called = "a picture's size"


@dataclass(frozen=True)
class Lack(Special):
    """`wanted` less the side. `none_below`: 0 in place of what would be less."""

    step: int
    axis: int
    wanted: int
    none_below: bool
    called = "a picture's size"


@dataclass(frozen=True)
class Smaller(Special):
    """Whether one of these sides is below a length."""

    step: int
    axes: tuple[int, ...]
    than: int
    called = "a picture's size"


def size_of(f: Follower, image: Image) -> tuple[Sides, Sides] | None:
    """image.size, of PIL's; None: it is none of PIL's."""
    if sort_of(f, image).kind != sorts.PIL:
        return None
    return Sides(image.step, (WIDTH,)), Sides(image.step, (HEIGHT,))


def shortest(args: list[Any]) -> Any:
    """min(*args); None: not of sides."""
    parts = list(args[0]) if len(args) == 1 and type(args[0]) is tuple else args
    if not parts or not all(type(one) is Sides and one.step == parts[0].step for one in parts):
        return None
    return Sides(parts[0].step, tuple(sorted({axis for one in parts for axis in one.axes})))


def at_least(args: list[Any]) -> Any:
    """max(0, size - side); None: it is something else."""
    lacks = [one for one in args if type(one) is Lack]
    if len(args) == 2 and len(lacks) == 1 and any(type(one) is int and one == 0 for one in args):
        return Lack(lacks[0].step, lacks[0].axis, lacks[0].wanted, none_below=True)
    return None


def combine(kind: type, left: Any, right: Any) -> Any:
    """left `kind` right; None: not of sides."""
    if kind is ast.Sub and type(left) is int and type(right) is Sides and len(right.axes) == 1:
        return Lack(right.step, right.axes[0], left, none_below=False)
    return None


def compared(op: ast.cmpop, left: Any, right: Any) -> Smaller | None:
    """left op right; None: not of sides."""
    if isinstance(op, ast.Gt) and type(right) is Sides:
        left, right = right, left
    elif not isinstance(op, ast.Lt):
        return None
    if type(left) is not Sides or type(right) is not int:
        return None
    return Smaller(left.step, left.axes, right)


def chosen(test: Smaller, body: Any, other: Any) -> Any:
    """body if test else other. Raises Stop."""
    if type(body) is Lack and type(other) is int and other == 0:
        if (body.step, (body.axis,), body.wanted) == (test.step, test.axes, test.than):
            return Lack(body.step, body.axis, body.wanted, none_below=True)
    raise Stop("chooses by a picture's size")


def padding_to(padding: Any) -> tuple[int, list[int]] | None:
    """The picture, and height and width that it gets, of a padding of the right and the bottom alone;
    None: it is another padding."""
    if type(padding) not in (list, tuple) or len(padding) != 4:
        return None
    *before, across, down = padding
    if any(type(one) is not int or one for one in before):
        return None
    if not all(type(one) is Lack and one.none_below for one in (across, down)):
        return None
    if (across.axis, down.axis, across.step) != (WIDTH, HEIGHT, down.step):
        return None
    return across.step, [down.wanted, across.wanted]


def followed(f: Follower, frame: Frame, node: ast.If, test: Smaller, block: Any) -> None:
    """What `if test: body` does. `block`: statements.block. Raises Stop."""
    if node.orelse:
        raise Stop("has an else where a picture's size decides")
    start, before, beside = len(f.steps), places_of(frame), f.count_beside()
    if block(f, frame, node.body) is not None:
        raise Stop("leaves the block where a picture's size decides")
    if f.count_beside() != beside:
        raise Stop("changes more than the picture where its size decides")
    changed = changed_in(f, frame, before, start, "where a picture's size decides")
    if len(f.steps) != start + len({new.step for _, _, _, new in changed}):
        raise Stop("does more than to pad a picture where its size decides")
    for _, _, old, new in changed:
        step = f.steps[new.step]
        if step.of != old.step or old.step != test.step or not _only_grows(step.transform, test):
            raise Stop("changes a picture that is not too small where its size decides")


def _only_grows(done: Any, test: Smaller) -> bool:
    """Whether it does nothing to a picture of which no such side is smaller."""
    if type(done) is not Known or done.node.op != "pad" or "least" not in done.node.args:
        return False
    height, width = done.node.args["least"]
    wanted = {WIDTH: width, HEIGHT: height}
    return all(wanted[axis] <= test.than for axis in test.axes) and len(test.axes) == len(wanted)


def pad_node(least: list[int], args: dict[str, Any], label: str) -> Node:
    """As F.pad's node, of which `args` are."""
    return Node("pad", {**args, "padding": 0, "least": least}, label=label)
