"""A picture that cv2.imread opened, or np.array made of PIL's, as an array of NumPy or a tensor of torch,
until a transform gets it.

Each operation gives a value of its own: nothing that is followed changes one in place. The values are
the file's bytes v, or v / 255 as float32. Where NumPy divides in float64 and rounds to float32 later,
the bits are the same for all 256 bytes (the contract test of these data sets shows it).
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import replace
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import torch

from ...native import opencv
from ...native.joint import INDEX, PIL
from ...native.plan import Node
from ...records import dataclass
from ..proof.lookup import lookup
from ..views import arrays
from ..views.joint import sort_of
from ..views.values import Array, File, Held, Image, Special, Stop, is_constant, is_sequence, name
from .columns import Column

ARRAY, TENSOR = "array", "tensor"
_BYTES, _SINGLE, _DOUBLE = "uint8", "float32", "float64"
_INTEGERS = ("int64", "int32", "int16")  # which hold every byte
_TORCH = {torch.uint8: _BYTES, torch.float32: _SINGLE, torch.float64: _DOUBLE} | {
    getattr(torch, of): of for of in _INTEGERS
}
_TO_TENSOR = ("from_numpy", "as_tensor", "tensor")


@dataclass(frozen=True, eq=False)
class Pixels(Special):
    """`picture`: its bytes, in the order of rows, columns, channels. axes: "HWC", "CHW", of grey
    pictures "HW" or "1HW". ordered: the memory has the order of the axes. divided: by 255.
    image: the picture of PIL's that it was made of, in place of `paths`."""

    picture: Array
    paths: Column | None
    kind: str
    axes: str
    dtype: str = _BYTES
    divided: bool = False
    ordered: bool = True
    image: Image | None = None

    called = "the picture"

    def attribute(self, f: Any, of: str) -> Any:
        rule = (_OF_ARRAYS if self.kind == ARRAY else _OF_TENSORS).get(of)
        if rule is None:
            raise Stop(f"uses .{of} of the picture")
        if self.kind == TENSOR:
            _check_torchs(f, of)
        return _Method(self, of, rule)

    def grows(self) -> bool:
        return True  # `image /= 255` changes the array itself

    def entry(self, f: Any, key: Any) -> Any:
        if key is None and self.axes == "HW":
            if self.kind == TENSOR:
                _check_torchs(f, "__getitem__")
            return replace(self, axes="1HW")
        if key == slice(None, None, -1) and self.axes == "CHW" and self.kind == ARRAY:
            return self._reversed()
        raise Stop("takes a part of the picture")

    def part(self, f: Any, text: str) -> Any:
        if self.axes == "HWC" and self.kind == ARRAY:
            return replace(self, picture=arrays.take(self.picture, text), ordered=False)
        raise Stop(f"takes [{text}] of the picture")

    def _reversed(self) -> "Pixels":
        return replace(self, picture=arrays.take(self.picture, ":, :, ::-1"), ordered=False)

    @property
    def is_bytes(self) -> bool:
        """As functions of cv2 and torchvision's ToTensor take it."""
        return self.kind == ARRAY and self.dtype == _BYTES and self.axes in ("HWC", "HW")

    def divide(self, f: Any, by: Any) -> "Pixels":
        if type(by) not in (int, float) or by != 255:
            raise Stop(f"divides the picture by {name(by)}")
        if self.divided:
            raise Stop("divides the picture by 255 twice")
        if self.dtype in _INTEGERS:
            raise Stop(f"divides a picture of {self.dtype}")
        made = self.dtype
        if self.kind == TENSOR:
            _check_torchs(f, "__truediv__")
            if made == _BYTES:
                default = f.seen.read(("default dtype",), torch.get_default_dtype)
                made = _TORCH.get(default, "another type")
        elif made == _BYTES:
            made = _DOUBLE
        return self.to(made, divided=True)

    def to(self, dtype: str, divided: bool | None = None) -> "Pixels":
        """In another type; NumPy and torch keep the order of the memory, and no step below 0."""
        divided = self.divided if divided is None else divided
        known = (_BYTES, _SINGLE, _DOUBLE, *(_INTEGERS if self.image is not None else ()))
        if dtype not in known or (divided and dtype in (_BYTES, *_INTEGERS)):
            raise Stop(f"makes the picture one of {dtype}")
        picture = replace(self.picture, turned=False)
        # A reversed axis alone leaves the order that its copy has.
        ordered = self.ordered or (self.picture.turned and self.axes == "HWC")
        return replace(self, picture=picture, dtype=dtype, divided=divided, ordered=ordered)

    def moved(self, order: Any) -> "Pixels":
        """Transposed."""
        if tuple(order) == (2, 0, 1) and self.axes == "HWC":
            return replace(self, axes="CHW", ordered=False)
        raise Stop(f"transposes the picture by {order!r}")

    def in_order(self) -> "Pixels":
        return replace(self, picture=replace(self.picture, turned=False), ordered=True)

    def as_tensor(self) -> "Pixels":
        if self.picture.turned:
            raise Stop("makes a tensor of an array with steps below 0", "its .copy()")
        return replace(self, kind=TENSOR)

    def nodes(self) -> list[Node]:
        """What makes the tensor natively, after the calls of the picture. Raises Stop."""
        if self.axes == "HW" and self.image is not None:
            to_tensor = Node("pil_to_tensor", label="a tensor of uint8")
            return [to_tensor, *self._typed(), Node("squeeze", label="a tensor [H, W]")]
        if self.axes not in ("CHW", "1HW"):
            raise Stop(
                "uses the picture with its channels last",
                "ToTensor, or .transpose(2, 0, 1), .permute(2, 0, 1)",
            )
        if self.divided and self.dtype == _SINGLE:
            return [Node("to_tensor", label="a tensor of float32, divided by 255")]
        return [Node("pil_to_tensor", label="a tensor of uint8"), *self._typed()]

    def _typed(self) -> list[Node]:
        if self.dtype == _DOUBLE:
            raise Stop("uses the picture as float64", "float32")
        if self.divided:
            raise Stop("divides a picture of two dimensions")
        if self.dtype == _BYTES:
            return []
        return [Node("to_dtype", {"dtype": self.dtype, "scale": 0}, label=self.dtype)]


class _Method(Special):
    called = "a method of the picture"

    def __init__(self, pixels: Pixels, of: str, rule: Callable[..., Any]) -> None:
        self._pixels, self._of, self._rule = pixels, of, rule

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        return self._rule(f, self._pixels, self._of, args, named)


# Functions of libraries.


def function_rule(thing: Any) -> Callable[..., Any] | None:
    """What a call of a function of cv2's, NumPy's, torch's or PIL's on pixels does."""
    if type(thing) is BuiltinFunctionType:
        if arrays.takes_pictures(thing):
            return functools.partial(_of_cv2, thing)
        of = str(thing.__name__)
        if of in _TO_TENSOR and thing is vars(torch).get(of):
            return functools.partial(_to_tensor, of)
        if of == "array" and thing is getattr(sys.modules.get("numpy"), of, None):
            return _array
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(thing) is type(numpy.concatenate):
        return _transposed if thing is numpy.transpose and _is_numpys(thing) else None
    return None


def _is_numpys(thing: Any) -> bool:
    return getattr(thing, "__module__", "") == "numpy" and thing.__name__ == "transpose"


def _of_cv2(thing: Any, f: Any, args: list[Any], named: dict[str, Any]) -> Pixels:
    if opencv.function_of(thing) == "imread" and args and isinstance(args[0], Column):
        if type(args[0].first) is not str:
            raise Stop("calls cv2.imread with what is no text")
        file = f.opens(args[0])
        made = arrays.call(f, thing, [File(), *args[1:]], named)
        file.is_read = True
        return Pixels(made, file.paths, ARRAY, "HWC" if made.channels == 3 else "HW")
    pixels = args[0] if args else None
    if type(pixels) is not Pixels:
        raise Stop(f"calls {name(Held(thing))} with other than a picture at the first place")
    if not opencv.function_of(thing):
        if pixels.kind != ARRAY or len(args) > 1 or named:
            raise Stop("calls numpy.ascontiguousarray with other than an array")
        return pixels.in_order()
    if not pixels.is_bytes or pixels.image is not None:
        raise Stop(f"calls cv2.{opencv.function_of(thing)} of what was computed of the picture")
    made = arrays.call(f, thing, [pixels.picture, *args[1:]], named)
    return Pixels(made, pixels.paths, ARRAY, "HWC" if made.channels == 3 else "HW")


def _to_tensor(of: str, f: Any, args: list[Any], named: dict[str, Any]) -> Pixels:
    takes = {"dtype"} if of != "from_numpy" else set()
    if len(args) != 1 or set(named) - takes or type(args[0]) is not Pixels:
        raise Stop("makes a tensor of other than a picture")
    made = args[0].as_tensor()
    return made.to(_type_of(named["dtype"], TENSOR)) if "dtype" in named else made


def _array(f: Any, args: list[Any], named: dict[str, Any]) -> Pixels:
    """np.array(image), a copy."""
    image = f.picture(args[0]) if args and type(args[0]) is not Pixels else None
    if type(image) is not Image or len(args) > 2 or set(named) - {"dtype"}:
        raise Stop("calls numpy.array with other than a picture")
    sort = sort_of(f, image)
    channels = {"RGB": 3, "L": 1, INDEX: 1}.get(sort.mode)
    if sort.kind != PIL or channels is None:
        raise Stop("makes an array of what is no PIL image of a known mode")
    picture = Array(Node("identity", label="np.array(image)"), (), channels)
    made = Pixels(picture, None, ARRAY, "HWC" if channels == 3 else "HW", image=image)
    dtype = [*args[1:], *named.values()]
    if len(dtype) > 1:
        raise Stop("calls numpy.array with two types")
    return made.to(_type_of(dtype[0], ARRAY)) if dtype else made


def _transposed(f: Any, args: list[Any], named: dict[str, Any]) -> Pixels:
    if len(args) != 2 or named or type(args[0]) is not Pixels or args[0].kind != ARRAY:
        raise Stop("calls numpy.transpose with other than an array and axes")
    return args[0].moved(_numbers(f, args[1:]))


# Methods of arrays and tensors.


def _check_torchs(f: Any, of: str) -> None:
    found = f.seen.read(("torch.Tensor", of), lambda: lookup(torch.Tensor, of))
    if (
        type(found) not in (MethodDescriptorType, WrapperDescriptorType)
        or found.__objclass__ is torch.Tensor
    ):
        raise Stop(f"uses .{of} of a tensor, which the program has replaced")


def _numbers(f: Any, args: list[Any]) -> tuple[int, ...]:
    given = f.items(args[0]) if len(args) == 1 and is_sequence(args[0]) else args
    if any(type(one) is not int for one in given):
        raise Stop("transposes the picture by what are no numbers")
    return tuple(given)


def _no_more(of: str, args: list[Any], named: dict[str, Any]) -> None:
    if args or named:
        raise Stop(f"calls {of} with arguments")


def _move(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    _no_more(of, [], named)
    return pixels.moved(_numbers(f, args))


def _in_order(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    _no_more(of, args, named)
    return pixels.in_order()


def _float(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    _no_more(of, args, named)
    return pixels.to(_SINGLE)


def _divide(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    _no_more(of, args[1:], named)
    return pixels.divide(f, args[0] if args else None)


def _plane(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    if args != [0] or named:
        raise Stop("calls unsqueeze with other than 0")
    return pixels.entry(f, None)  # type: ignore[no-any-return]


def _long(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    _no_more(of, args, named)
    return pixels.to("int64")


def _cast(f: Any, pixels: Pixels, of: str, args: list[Any], named: dict[str, Any]) -> Pixels:
    given = [*args, *([named["dtype"]] if "dtype" in named else [])]
    if len(given) != 1 or set(named) - {"dtype"}:
        raise Stop(f"calls {of} with other than a type")
    return pixels.to(_type_of(given[0], pixels.kind))


def _type_of(value: Any, kind: str) -> str:
    """The type's name, where it is known."""
    thing = value.thing if type(value) is Held else value
    if kind == TENSOR:
        return _TORCH.get(thing, str(thing)) if type(thing) is torch.dtype else name(value)
    if thing is int:
        return "int64"
    if is_constant(thing):
        return thing if type(thing) is str else name(value)
    numpy = sys.modules["numpy"]
    return next((of for of in _TORCH.values() if thing is vars(numpy)[of]), name(value))


_OF_ARRAYS: dict[str, Callable[..., Pixels]] = {
    "transpose": _move,
    "copy": _in_order,
    "astype": _cast,
}
_OF_TENSORS: dict[str, Callable[..., Pixels]] = {
    "permute": _move,
    "contiguous": _in_order,
    "float": _float,
    "long": _long,
    "to": _cast,
    "div": _divide,
    "unsqueeze": _plane,
}
