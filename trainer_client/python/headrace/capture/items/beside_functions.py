"""Functions of Python's, torch's and torchvision's of what an entry makes beside its pictures.

Each draws nothing, keeps nothing, and does the same in any process. It is known as the very function, as
its module has it.
"""

import functools
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch

from ...native.genuine import is_genuine
from ...native.targets import HEIGHT as T_HEIGHT
from ...native.targets import WIDTH as T_WIDTH
from ...native.targets import Ref
from ..views import stacked
from ..views.calls import builtin
from ..views.joint import sort_of
from ..views.sizes import HEIGHT, WIDTH, Sides
from ..views.values import Held, Image, Stop, builtin_name, name
from .beside import Beside, is_beside
from .pixels import Pixels

Rule = Callable[[Any, list[Any], dict[str, Any]], Any]

_OF_PYTHON: dict[str, Callable[..., Any]] = {"len": len, "int": int, "float": float}
_OF_TORCH = (
    "arange", "as_tensor", "cat", "clamp", "from_numpy", "full", "maximum", "minimum", "ones", "ones_like", "stack",
    "tensor", "where", "zeros", "zeros_like",
)  # fmt: skip
_OF_BOXES = ("torchvision.ops.boxes", ("box_area", "box_convert", "clip_boxes_to_image"))
_V2 = "torchvision.transforms.v2.functional"
_SHARING = ("as_tensor", "from_numpy", "asarray", "clip_boxes_to_image", "box_convert")
_NAMED = ("device", "requires_grad", "out", "pin_memory", "layout", "generator")


def rule_of(thing: Any, before: Rule | None) -> Rule | None:
    """What a call of `thing` does; `before`: what it does to pictures."""
    if (of := builtin_name(thing)) in _OF_PYTHON:
        return functools.partial(_python, of, before)
    kind = type(thing)
    if kind is BuiltinFunctionType:
        of = str(thing.__name__)
        if of in _OF_TORCH and thing is vars(torch).get(of):
            return functools.partial(_torch, thing, before)
        if _is_array(thing):
            return functools.partial(_array, thing, before)
    if kind is FunctionType:
        of = thing.__name__
        if of == "get_size" and _is_of(thing, _V2):
            return _get_size
        if of == "convert_bounding_box_format" and _is_of(thing, _V2):
            return functools.partial(_converted, thing)
        if of in _OF_BOXES[1] and _is_of(thing, _OF_BOXES[0]):
            return functools.partial(_torch, thing, None)
    if thing is not None and thing is _tv("BoundingBoxes"):
        return functools.partial(_boxes, thing)
    return before


def _is_of(thing: Any, module: str) -> bool:
    space = vars(sys.modules.get(module, object))
    return space.get(thing.__name__) is thing and is_genuine(thing, "torchvision")


def _tv(of: str) -> Any:
    return vars(sys.modules.get("torchvision.tv_tensors", object)).get(of)


def _is_array(thing: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return any(thing is getattr(numpy, of, None) for of in ("array", "asarray"))


def _python(of: str, before: Rule | None, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if any(type(one) is Beside for one in args):
        if len(args) != 1 or named or args[0].boxes and of != "len":
            raise Stop(f"calls {of} of what is made beside the picture")
        return f.beside.step(_OF_PYTHON[of], args)
    return before(f, args, named) if before is not None else builtin(f, of, args, named)


def _torch(
    function: Any, before: Rule | None, f: Any, args: list[Any], named: dict[str, Any]
) -> Any:
    """A function that makes a tensor."""
    if any(type(one) is Pixels or f.picture_in(one) for one in args):
        if before is not None:
            return before(f, args, named)
        if stacked.is_stack(function):
            return stacked.call(f, args, named)
        raise Stop(f"calls torch.{function.__name__} of the picture")
    return _step(f, function, args, named)


def _array(
    function: Any, before: Rule | None, f: Any, args: list[Any], named: dict[str, Any]
) -> Any:
    if not args or not is_beside(f, args[0]):
        if before is None:
            raise Stop("calls numpy.asarray with other than what belongs to the index")
        return before(f, args, named)
    names = {key: one for key, one in named.items() if key == "dtype"}
    if names != named or len(args) > 2:
        raise Stop("calls numpy.array with arguments that are not followed")
    dtype = [_numpys_type(one) for one in [*args[1:], *names.values()]]
    given = f.beside.filled(f, args[0])
    made = f.beside.step(function, [given], {"dtype": dtype[0]} if dtype else {})
    return _of_memory(made, function.__name__, args)


def _numpys_type(value: Any) -> Any:
    numpy = sys.modules["numpy"]
    if type(value) is Held:
        for of in ("float32", "float64", "int64", "int32"):
            if value.thing is getattr(numpy, of):
                return value.thing
    raise Stop("calls numpy.array with a type that is not followed")


def _step(f: Any, function: Any, args: list[Any], named: dict[str, Any]) -> Beside:
    if refused := [key for key in named if key in _NAMED]:
        raise Stop(f"calls {function.__name__} with {refused[0]}=")
    given = [f.beside.filled(f, one) for one in args]
    by_name = {key: f.beside.filled(f, one) for key, one in named.items()}
    if any(map(_has_boxes, [*args, *named.values()])):
        raise Stop(f"calls {function.__name__} of bounding boxes")
    made: Beside = f.beside.step(function, given, by_name)
    return _of_memory(made, function.__name__, args)


def _of_memory(made: Beside, of: str, args: list[Any]) -> Beside:
    """Says whether it has the memory of what it is made of."""
    first = args[0] if args else None
    shares = of in _SHARING and type(first) is Beside and not first.listed
    made.tensor, made.own = True, not shares or first.own  # type: ignore[union-attr]
    made.shares = bool(shares and first.shares)  # type: ignore[union-attr]
    return made


def _has_boxes(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_has_boxes, value))
    return type(value) is Beside and value.boxes


def _boxes(cls: Any, f: Any, args: list[Any], named: dict[str, Any]) -> Beside:
    """tv_tensors.BoundingBoxes(data, format=, canvas_size=)"""
    if len(args) != 1 or not {"format", "canvas_size"} <= set(named):
        raise Stop("makes bounding boxes without a format and a size of their picture")
    if refused := [key for key in named if key in _NAMED]:
        raise Stop(f"makes bounding boxes with {refused[0]}=")
    if type(args[0]) is Image:
        raise Stop("makes bounding boxes of the picture")
    by_name = {key: f.beside.filled(f, one) for key, one in named.items()}
    made: Beside = f.beside.step(cls, [f.beside.filled(f, args[0])], by_name, boxes=True)
    size = by_name["canvas_size"]
    made.shares = type(args[0]) is Beside and args[0].shares
    made.fits = type(size) in (list, tuple) and list(size) == [Ref(T_HEIGHT), Ref(T_WIDTH)]
    return made


def _converted(function: Any, f: Any, args: list[Any], named: dict[str, Any]) -> Beside:
    """convert_bounding_box_format(boxes, new_format=...)"""
    if len(args) != 1 or set(named) != {"new_format"} or type(args[0]) is not Beside:
        raise Stop("calls convert_bounding_box_format with arguments that are not followed")
    if not args[0].boxes:
        raise Stop("calls convert_bounding_box_format of what is no tv_tensors.BoundingBoxes")
    by_name = {"new_format": f.beside.filled(f, named["new_format"])}
    made: Beside = f.beside.step(function, args, by_name, boxes=True)
    made.fits, made.shares = args[0].fits, args[0].shares
    return made


def _get_size(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """get_size(image): a list of height and width."""
    image = f.picture(args[0]) if len(args) == 1 and not named else None
    if type(image) is not Image:
        raise Stop(f"calls get_size of {name(args[0]) if args else 'nothing'}, not of a picture")
    if not sort_of(f, image).kind:
        raise Stop("calls get_size of a picture whose type is not known")
    return [Sides(image.step, (HEIGHT,)), Sides(image.step, (WIDTH,))]
