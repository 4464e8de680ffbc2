"""Calls of torchvision's transforms: of one picture, and of v2's with several at once.

    image, mask = self.transforms(image, tv_tensors.Mask(mask))

Which of its inputs a v2 transform takes, and as what, is native/joint.py's to say. Each picture that it
takes goes on as a value of its own. What the transform draws, it draws once: for the first of them that
is no mask. Everything else in its inputs it hands on, in containers of its own.
"""

import sys
from collections.abc import Callable
from typing import Any

from ...native import joint, several
from ...native.collate import name_of
from ...native.gates import GATES
from ...native.kinds import check_unaltered, kind_of
from ...native.nodes import nodes_of_leaf
from ...native.plan import Node, NotNative
from .follower import Follower, Step
from .values import Held, Image, Stop, is_constant, is_dict, is_sequence, name
from .views import SOURCE, Known, Together

_MOST_INPUTS = 64
_WRAPPED = ("Image", "Mask")


def call(f: Follower, callee: Held, args: list[Any], named: dict[str, Any], at: str) -> Any:
    """What a single transform of torchvision's makes of its inputs. Raises Stop."""
    thing = callee.thing
    if named or not args:
        raise Stop(f"calls {name(callee)} with other than pictures")
    try:
        if not (kind_of(thing) or "").startswith("v2."):
            if len(args) != 1:
                raise Stop(f"calls {name(callee)} with other than one picture")
            return _one(f, thing, f.picture(args[0]), at)
        inputs = args[0] if len(args) == 1 else tuple(args)
        leaves: list[Any] = []
        rebuild = _flatten(f, inputs, leaves)
        made = f.with_beside(thing, leaves, lambda of: rebuild(iter(of)), at)
        return rebuild(iter(_inputs(f, callee, leaves, at) if made is None else made))
    except NotNative as refused:
        raise Stop(f"applies what has no native form: {refused}", refused.remedy) from None


def is_tensor_class(thing: Any) -> bool:
    """Whether it is tv_tensors.Image or tv_tensors.Mask."""
    space = vars(sys.modules.get("torchvision.tv_tensors", object))
    return any(thing is space.get(of) for of in _WRAPPED)


def wrapped(f: Follower, cls: Any, args: list[Any], named: dict[str, Any]) -> Image:
    """tv_tensors.Mask(picture)"""
    if cls.__name__ == "Mask" and len(args) == 1 and not named:
        if (plane := f.plane(args[0])) is not None:
            return plane
    image = f.picture(args[0]) if len(args) == 1 else None
    if type(image) is not Image or named:
        raise Stop(f"makes a {name(Held(cls))} of other than a picture")
    sort = sort_of(f, image)
    if not sort.kind:
        raise Stop(f"makes a {name(Held(cls))} of a picture whose type is not known")
    made = joint.Sort(joint.MASK if cls.__name__ == "Mask" else joint.IMAGE, sort.mode, sort.flat)
    label = f"tv_tensors.{cls.__name__}(picture)"
    op = "pil_to_tensor" if sort.kind == joint.PIL else "identity"
    node = Node(op, label=label)
    if cls.__name__ == "Image":  # which gives torch the picture's own memory, as ToImage does
        node.kind = "v2.ToImage"
    return f.add(Known(node, sort.kind == joint.PIL, made), image, "")


def sort_of(f: Follower, image: Image) -> joint.Sort:
    """What a picture is to torchvision."""
    number = image.step
    way = []
    while number > SOURCE and number not in f.sorts:
        way.append(number)
        number = f.steps[number].of
    for at in reversed(way):
        f.sorts[at] = _after(f, f.steps[at])
    return f.sorts[image.step] if image.step > SOURCE else f.sort_of_picture(image.step)


def _after(f: Follower, step: Step) -> joint.Sort:
    done = step.transform
    before = f.sorts[step.of] if step.of > SOURCE else f.sort_of_picture(step.of)
    if type(done) is Together:
        return done.sort
    if type(done) is Known:
        if done.sort is not None:
            return done.sort
        return joint.Sort(joint.PURE, before.mode) if done.makes_tensors else before
    kind = kind_of(done) or ""
    if kind.startswith("v1.") and before.kind in (joint.IMAGE, joint.MASK):
        return joint.Sort("", before.mode)  # some hand on what they get, others make plain tensors
    return joint.becomes(done, before)


def _one(f: Follower, thing: Any, image: Any, at: str) -> Any:
    if type(image) is not Image:
        raise Stop(f"applies {name_of(thing)} to {name(image)}, not to a picture")
    check_unaltered(thing)
    sort = sort_of(f, image)
    if sort.kind == joint.MASK:
        raise Stop(f"applies {name_of(thing)} to a tv_tensors.Mask", "torchvision.transforms.v2")
    if several.makes_several(thing):
        if sort.mode == joint.INDEX:
            raise Stop(f"applies {name_of(thing)} to a picture that may have a palette")
        return several.pictures(thing, image, lambda step, of: f.apply(step, of, at))
    if sort.kind == joint.PIL and sort.mode == joint.INDEX:
        joint.check_pil(nodes_of_leaf(thing), sort, thing)
    return f.apply(thing, image, at)


def _inputs(f: Follower, callee: Held, leaves: list[Any], at: str) -> list[Any]:
    """The same inputs after the transform."""
    thing = callee.thing
    places = [place for place, leaf in enumerate(leaves) if type(leaf) is Image]
    if not places:
        raise Stop(
            f"applies {name_of(thing)} to {name(leaves[0]) if leaves else 'nothing'}, not to a picture"
        )
    images = [leaves[place] for place in places]
    sorts = [sort_of(f, image) for image in images]
    made = list(leaves)
    if len(images) == 1 and sorts[0].kind != joint.MASK and not joint.is_of_kinds(thing):
        made[places[0]] = _one(f, thing, images[0], at)
        return made
    for place, image in zip(places, together(f, thing, images, sorts, at)[0], strict=True):
        made[place] = image
    return made


def together(
    f: Follower, thing: Any, images: list[Image], sorts: list[joint.Sort], at: str
) -> tuple[list[Image], int]:
    """What one call makes of these pictures, and its number."""
    check_unaltered(thing)
    each = joint.nodes_of_each(thing, sorts)
    taken = [True] * len(sorts) if kind_of(thing) in GATES else joint.taken_of(thing, sorts)
    call_number = f.next_call()
    made = list(images)
    # Draws are made for the first, by its height and width.
    order = sorted(range(len(images)), key=lambda number: sorts[number].kind == joint.MASK)
    for number in order:
        sort = joint.becomes(thing, sorts[number]) if taken[number] else sorts[number]
        nodes = each[number]
        if not nodes and sort == sorts[number]:
            continue
        nodes = nodes or [Node("identity", label=repr(thing))]
        made[number] = f.add(Together(thing, tuple(nodes), call_number, sort), images[number], at)
    return made, call_number


def _flatten(f: Follower, value: Any, leaves: list[Any]) -> Callable[[Any], Any]:
    """As torch.utils._pytree does it. Returns what puts such leaves together again."""
    if is_sequence(value):
        items = f.items(value)
        rebuilds = [_flatten(f, one, leaves) for one in items]
        kind = type(items)
        return lambda made: kind([rebuild(made) for rebuild in rebuilds])
    if is_dict(value):
        entries = f.mapping(value)
        if type(value) is Held and type(value.thing) is not dict:
            raise Stop(f"gives {name(value)} to a transform")
        rebuilt = {key: _flatten(f, one, leaves) for key, one in entries.items()}
        return lambda made: {key: rebuild(made) for key, rebuild in rebuilt.items()}
    leaf = f.picture(value)
    if type(leaf) is not Image and not is_constant(leaf) and not f.is_no_picture(leaf):
        raise Stop(f"gives {name(value)} to a transform, not a picture")
    if len(leaves) >= _MOST_INPUTS:
        raise Stop(f"gives over {_MOST_INPUTS} inputs to a transform")
    leaves.append(leaf)
    return next
