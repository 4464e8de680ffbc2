"""Functions of torchvision's that followed code applies to pictures, and what they are given:

    i, j, h, w = T.RandomCrop.get_params(image, output_size=(256, 256))
    image, mask = TF.crop(image, i, j, h, w), TF.crop(mask, i, j, h, w)

A function with fixed arguments is the transform that calls it. What get_params draws is drawn for the
picture that it is given, so that picture's step is noted at once: draws keep their order.
"""

import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import torch

from ...native import joint as sorts
from ...native.genuine import is_genuine
from ...native.kinds import MODULES, check_unaltered
from ...native.nodes import nodes_of_leaf
from ...native.plan import RANDOM, Node, NotNative
from . import joint
from .follower import Follower, Step
from .numbers import PYTHON, Between, Number, Picked, few, use
from .sizes import pad_node, padding_to
from .values import Held, Image, Special, Stop, is_constant, is_sequence, name
from .views import Known, Together

_SPACES = {api: f"{module}.functional" for api, module in MODULES.items()}
# Function -> the transform that calls it, and the names of what both take after the picture.
_TRANSFORMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "resize": ("Resize", ("size", "interpolation", "max_size", "antialias")),
    "center_crop": ("CenterCrop", ("size",)),
    "pad": ("Pad", ("padding", "fill", "padding_mode")),
    "normalize": ("Normalize", ("mean", "std", "inplace")),
    "pil_to_tensor": ("PILToTensor", ()),
    "rotate": ("RandomRotation", ("angle", "interpolation", "expand", "center", "fill")),
}
_BY_API = {
    "v1": {"to_tensor": ("ToTensor", ()), "convert_image_dtype": ("ConvertImageDtype", ("dtype",))},
    "v2": {"to_image": ("ToImage", ()), "to_dtype": ("ToDtype", ("dtype", "scale"))},
}
_RENAMED = {"output_size": "size"}
_FLIPS = {
    "hflip": "horizontal",
    "horizontal_flip": "horizontal",
    "vflip": "vertical",
    "vertical_flip": "vertical",
}
_PLACE = ("top", "left", "height", "width")
_CROPS = {"crop": _PLACE, "resized_crop": (*_PLACE, "size", "interpolation", "antialias")}
_FIRST = ("img", "inpt", "pic", "tensor", "image", "img_tensor")
# What each takes, where it does not take all: the classes hand on what the functions refuse.
_TAKES_OF_V2 = {
    "to_dtype": (sorts.PURE, sorts.IMAGE, sorts.MASK),
    "to_image": (sorts.PIL, sorts.PURE, sorts.IMAGE, ""),
    "normalize": (sorts.PURE, sorts.IMAGE),
    "pil_to_tensor": (sorts.PIL,),
}
_DRAWING = {"RandomCrop": ("img", "output_size"), "RandomResizedCrop": ("img", "scale", "ratio")}


class Drawn(Special):
    """What get_params returned. `step`: that of the picture that it was given. `call`: the number of
    what is drawn. `given`: the arguments of the transform, as far as they are known."""

    called = "what get_params drew"

    def __init__(self, cls: type, step: int, call: int, given: dict[str, Any]) -> None:
        self.cls, self.step, self.call_number, self.given = cls, step, call, given

    def entries(self, f: Any) -> Iterator[Any]:
        return iter([_Part(self, at) for at in range(len(_PLACE))])


class _Part(Special):
    called = "what get_params drew"

    def __init__(self, of: Drawn, at: int) -> None:
        self.of, self.at = of, at


def rule_of(thing: FunctionType) -> Callable[..., Any] | None:
    """What a call of this function of torchvision's does; None: nothing is known of it."""
    if not (thing.__module__ or "").startswith("torchvision.transforms."):
        return None
    of = thing.__name__
    if of == "get_params":
        for api in MODULES:
            for called in _DRAWING:
                cls = vars(sys.modules.get(MODULES[api], object)).get(called)
                if getattr(cls, "get_params", None) is thing and is_genuine(thing, "torchvision"):
                    return lambda f, args, named, at, cls=cls: _draw(f, cls, args, named, at)
    for api, space in _SPACES.items():
        if vars(sys.modules.get(space, object)).get(of) is thing and is_genuine(
            thing, "torchvision"
        ):
            return _function(api, of)
    return None


def _function(api: str, of: str) -> Callable[..., Any] | None:
    if of in _FLIPS:
        return lambda f, args, named, at: _flip(f, api, of, args, named, at)
    if of in _CROPS:
        return lambda f, args, named, at: _crop(f, api, of, args, named, at)
    called, takes = _BY_API[api].get(of) or _TRANSFORMS.get(of) or ("", ())
    if not called:
        return None

    def apply(f: Follower, args: list[Any], named: dict[str, Any], at: str) -> Any:
        picture, given = _given(f, of, takes, args, named)
        if of in ("resize", "rotate") and (number := given.get(takes[0])) is not None:
            if isinstance(number, Number) or of == "rotate":
                return _by_number(f, api, of, picture, given, at)
        if of == "pad" and (least := padding_to(given.get("padding"))) is not None:
            return _padded(f, api, picture, given, least, at)
        made = _make(f, vars(sys.modules[MODULES[api]])[called], given)
        if of == "to_dtype" and type(given.get("dtype", 0)) is not torch.dtype:
            raise Stop("calls to_dtype without a type")
        image = f.picture(picture)
        sort = joint.sort_of(f, image) if type(image) is Image else sorts.Sort("")
        if api == "v2" and sort.kind not in _TAKES_OF_V2.get(of, (sort.kind,)):
            raise Stop(f"calls {of} with {sort.kind or 'an array'}")
        if of == "to_dtype" and sort.kind == sorts.MASK:  # the class would hand it on
            (node,) = sorts.as_dtype(made, made.dtype, 0)
            return f.add(Known(node, sort=sort), image, at)
        return joint.call(f, Held(made), [picture], {}, at)

    return apply


def _given(
    f: Follower, of: str, takes: tuple[str, ...], args: list[Any], named: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The picture, and the other arguments by name; parts of what was drawn as they are."""
    named = {_RENAMED.get(key, key): one for key, one in named.items()}
    first = [named.pop(key) for key in _FIRST if key in named and key not in takes]
    args = [*first, *args]
    given = dict(zip(takes, args[1:], strict=False))
    if not args or len(first) > 1 or len(args) > 1 + len(takes) or set(given) & set(named):
        raise Stop(f"calls {of} with arguments that do not fit")
    given |= named
    if not set(given) <= set(takes):
        raise Stop(f"calls {of} with arguments that are not followed")
    return args[0], {
        key: one if _is_drawn(one) else _plain(f, of, one) for key, one in given.items()
    }


def _is_drawn(value: Any) -> bool:
    return type(value) is _Part or isinstance(value, Number) or padding_to(value) is not None


def _plain(f: Follower, of: str, value: Any) -> Any:
    if is_constant(value):
        return value
    if is_sequence(value) and all(map(is_constant, f.items(value))):
        return type(f.items(value))(f.items(value))
    if type(value) is Held:
        mode = getattr(sys.modules[MODULES["v1"]], "InterpolationMode", None)
        if type(value.thing) is torch.dtype or mode is not None and type(value.thing) is mode:
            return value.thing
    raise Stop(f"calls {of} with {name(value)}, which is not followed")


def _make(f: Follower, cls: Any, given: dict[str, Any]) -> Any:
    """The transform, which is nobody else's."""
    if any(map(_is_drawn, given.values())):
        raise Stop(f"uses what was drawn as an argument of {cls.__name__}")
    try:
        made = cls(**given)
        check_unaltered(made)
    except NotNative:
        raise
    except Exception as error:
        raise Stop(f"gives arguments to {cls.__name__} that raise {type(error).__name__}") from None
    f.seen.hold(made)
    return made


def _picture(f: Follower, of: str, value: Any) -> Image:
    image = f.picture(value)
    if type(image) is not Image:
        raise Stop(f"calls {of} of {name(value)}, not of a picture")
    return image


def _sort(f: Follower, api: str, of: str, image: Image) -> sorts.Sort:
    sort = joint.sort_of(f, image)
    if not sort.kind:
        raise Stop(f"calls {of} of what is no picture of PIL's and no tensor")
    if api == "v1" and sort.kind in (sorts.IMAGE, sorts.MASK):
        raise Stop(
            f"calls {of} of v1 with {sort.kind}", f"torchvision.transforms.v2.functional.{of}"
        )
    return sort


def _flip(f: Follower, api: str, of: str, args: list[Any], named: dict[str, Any], at: str) -> Image:
    picture, _ = _given(f, of, (), args, named)
    image = _picture(f, of, picture)
    node = Node("flip", {"axis": _FLIPS[of]}, label=f"{of}(image)")
    return f.add(Known(node, sort=_sort(f, api, of, image)), image, at)


def _crop(f: Follower, api: str, of: str, args: list[Any], named: dict[str, Any], at: str) -> Image:
    picture, given = _given(f, of, _CROPS[of], args, named)
    image = _picture(f, of, picture)
    place = [given.pop(key, None) for key in _PLACE]
    if of == "crop" and all(type(one) is int for one in place):
        args_of = {"top": place[0], "left": place[1], "size": place[2:]}
        node = Node("crop", args_of, label=f"crop(image, {', '.join(map(str, place))})")
        return f.add(Known(node, sort=_sort(f, api, of, image)), image, at)
    if any(type(one) is not _Part or one.at != number for number, one in enumerate(place)):
        raise Stop(f"calls {of} at a place that get_params did not draw")
    drawn = place[0].of
    if any(one.of is not drawn for one in place) or (of == "crop") != (
        drawn.cls.__name__ == "RandomCrop"
    ):
        raise Stop(f"calls {of} at a place that was drawn for something else")
    sort = _sort(f, api, of, image)
    if of == "resized_crop" and not _is_size(given.get("size")):  # resize takes others otherwise
        raise Stop("calls resized_crop with other than a height and a width")
    # get_params is v1's in both, and RandomCrop of v2 draws otherwise.
    cls = drawn.cls if of == "crop" else vars(sys.modules[MODULES[api]])[drawn.cls.__name__]
    made = _make(f, cls, {**drawn.given, **given})
    if of == "resized_crop" and sort.kind == sorts.MASK:
        nodes = sorts.nodes_of_one(made, sort)
    else:
        nodes = nodes_of_leaf(made)
    sorts.check_pil(nodes, sort, made)
    done = Together(made, tuple(nodes), drawn.call_number, sort)
    of_drawn = f.steps[drawn.step]
    if image.step != of_drawn.of:
        return f.add(done, image, at)
    if of_drawn.transform.nodes and of_drawn.transform.nodes != done.nodes:
        raise Stop(f"calls {of} twice of one picture, in different ways")
    f.steps[drawn.step] = Step(done, image.step, at)
    return Image(drawn.step)


def _by_number(
    f: Follower, api: str, of: str, picture: Any, given: dict[str, Any], at: str
) -> Image:
    """resize(image, size) or rotate(image, angle), of a number that random draws."""
    image = _picture(f, of, picture)
    sort = _sort(f, api, of, image)
    number = given.pop("size" if of == "resize" else "angle")
    if type(number) not in (Between, Picked) or type(number) is Between and of == "resize":
        raise Stop(f"calls {of} with other than a fixed size or one of integers that random draws")
    fixed: dict[str, Any] = {"size": 1} if of == "resize" else {"degrees": 0}
    if of == "rotate" and sort.kind != sorts.PIL:
        raise Stop("calls rotate of a tensor")
    if given.get("fill", 0) is None:  # as F.rotate says 0
        del given["fill"]
    made = _make(f, vars(sys.modules[MODULES[api]])[_TRANSFORMS[of][0]], {**fixed, **given})
    (node,) = sorts.nodes_of_one(made, sort)
    drawn = _lengths(number) if of == "resize" else _angles(number)
    left = ("size", "max_size") if of == "resize" else ("degrees",)
    if node.args.get("max_size") is not None:
        raise Stop("calls resize with a size that is drawn and a max_size")
    kept = {key: one for key, one in node.args.items() if key not in left}
    op = "random_resize" if of == "resize" else node.op
    label = f"{of}(image, {number.called})"
    made_of = Node(op, {**kept, **drawn, "generator": PYTHON}, RANDOM, label)
    use(f, number.number)
    return f.add(Together(made, (made_of,), number.number, sort), image, at)


def _lengths(number: Picked) -> dict[str, Any]:
    options = number.options
    last = options[0] + len(options)
    if type(options[0]) is not int or (
        type(options) is not range
        and list(options) != list(range(options[0], last))
        or type(options) is range
        and options.step != 1
    ):
        raise Stop("calls resize with a size that is drawn of other than integers in a row")
    return {"min_size": options[0], "max_size": last}


def _angles(number: Picked | Between) -> dict[str, Any]:
    if type(number) is Between:
        return {"degrees": [number.low, number.high]}
    assert type(number) is Picked
    return {"degrees": 0.0, "choices": [float(one) for one in few(number)]}


def _padded(
    f: Follower,
    api: str,
    picture: Any,
    given: dict[str, Any],
    least: tuple[int, list[int]],
    at: str,
) -> Image:
    """pad(image, (0, 0, across, down)), up to a size."""
    image = _picture(f, "pad", picture)
    sort = _sort(f, api, "pad", image)
    step, size = least
    if step != image.step or min(size) < 1:
        raise Stop("calls pad with the size of another picture")
    made = _make(f, vars(sys.modules[MODULES[api]])["Pad"], {**given, "padding": 0})
    (node,) = sorts.nodes_of_one(made, sort)
    done = pad_node(size, node.args, f"pad(image, up to {size})")
    return f.add(Known(done, sort=sort), image, at)


def _is_size(size: Any) -> bool:
    return (
        type(size) in (list, tuple) and len(size) == 2 and all(type(side) is int for side in size)
    )


def _draw(f: Follower, cls: Any, args: list[Any], named: dict[str, Any], at: str) -> Drawn:
    takes = _DRAWING[cls.__name__]
    named = {_RENAMED.get(key, key): one for key, one in named.items()}
    takes = tuple(_RENAMED.get(key, key) for key in takes[1:])
    picture, given = _given(f, "get_params", takes, args, named)
    image = _picture(f, "get_params", picture)
    if set(given) != set(takes) or not all(
        type(one) in (list, tuple) and len(one) == 2 for one in given.values()
    ):
        raise Stop("calls get_params without its arguments")
    sort = joint.sort_of(f, image)
    if not sort.kind:
        raise Stop("calls get_params of what is no picture of PIL's and no tensor")
    number = f.next_call()
    # Its nodes are known when the picture is cropped.
    step = f.add(Together(None, (), number, sort), image, at)
    return Drawn(cls, step.step, number, given)
