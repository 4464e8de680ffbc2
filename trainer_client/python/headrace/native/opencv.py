"""Calls of OpenCV's functions as operator nodes.

A call has one picture, an array of uint8, and fixed arguments. Each node is tried before it is used:
admission makes drawn pictures both ways (admission/opencv_trials.py).
"""

import os
import sys
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from ..records import dataclass
from .plan import Node, NotNative

# Limits that OpenCV has been told to keep, with errors of its own.
_LIMITS = "OPENCV_IO_MAX_IMAGE_"
_CODES = (
    "BGR2GRAY", "RGB2GRAY", "GRAY2BGR", "GRAY2RGB", "BGR2YCrCb", "RGB2YCrCb", "YCrCb2BGR", "YCrCb2RGB",
    "BGR2HSV", "RGB2HSV", "BGR2Lab", "RGB2Lab", "BGR2HLS", "RGB2HLS", "Lab2BGR", "Lab2RGB", "BGR2YUV",
    "RGB2YUV",
)  # fmt: skip
_PADDED = {
    "CONSTANT": "constant",
    "REPLICATE": "edge",
    "REFLECT": "symmetric",
    "REFLECT_101": "reflect",
}


@dataclass(frozen=True)
class Call:
    """One call. `apply`: what the program's own cv2 makes of a picture."""

    node: Node
    apply: Callable[[Any], Any]
    channels: int  # of its result
    takes: int  # channels


def function_of(thing: Any) -> str:
    """The name of a function of cv2's own, "resize"; empty: it is none."""
    module = sys.modules.get("cv2")
    if module is None or type(thing) is not BuiltinFunctionType:
        return ""
    name = thing.__name__
    own = getattr(thing, "__module__", None) in ("cv2", None)
    return name if own and getattr(module, name, None) is thing else ""


def settings() -> str:
    """What is set so that OpenCV computes, or refuses, in another way; empty: nothing."""
    module = sys.modules.get("cv2")
    if module is None or not module.useOptimized():
        return "cv2.setUseOptimized(False)"
    limits = sorted(name for name in os.environ if name.startswith(_LIMITS))
    return f"{limits[0]} is set" if limits else ""


def read(flags: Any) -> tuple[Node, int]:
    """cv2.imread's node, and the channels of its result. Raises NotNative."""
    cv2 = sys.modules["cv2"]
    kinds = {cv2.IMREAD_COLOR: ("BGR", 0), cv2.IMREAD_GRAYSCALE: ("GRAY", 0)}
    kinds[cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION] = ("BGR", 1)
    if hasattr(cv2, "IMREAD_COLOR_RGB"):
        kinds[cv2.IMREAD_COLOR_RGB] = ("RGB", 0)
    if type(flags) is not int or flags not in kinds:
        raise NotNative(f"cv2.imread with flags={flags!r} has no native form")
    channels, ignores = kinds[flags]
    node = Node("cv_read", {"channels": channels, "ignore_orientation": ignores})
    node.label = f"cv2.imread(path, {flags})"
    return node, 1 if channels == "GRAY" else 3


def call_of(name: str, args: list[Any], named: dict[str, Any], channels: int) -> Call:
    """The call cv2.name(picture, *args, **named). Raises NotNative."""
    make = _FUNCTIONS.get(name)
    if make is None:
        raise NotNative(f"cv2.{name} has no native form")
    parameters, convert = make
    bound: dict[str, Any] = {}
    if len(args) > len(parameters) or set(named) - set(parameters[len(args) :]):
        raise NotNative(f"cv2.{name} with these arguments has no native form")
    bound.update(zip(parameters, args, strict=False))
    bound.update(named)
    if bound.pop("dst", None) is not None:
        raise NotNative(f"cv2.{name} with dst has no native form")
    node, made = convert(bound, channels)
    node.label = f"cv2.{name}({', '.join(f'{key}={value}' for key, value in bound.items())})"
    if node.op.startswith("cv_"):
        node.args["version"] = int(sys.modules["cv2"].__version__.split(".")[0])
    function = getattr(sys.modules["cv2"], name)

    def apply(picture: Any) -> Any:
        return function(picture, *args, **named)

    return Call(node, apply, made, channels)


def reversed_channels(channels: int) -> Call:
    """image[:, :, ::-1]"""
    node = Node("reverse_channels", label="image[:, :, ::-1]")
    return Call(node, lambda picture: picture[:, :, ::-1], channels, channels)


def _name(prefix: str, value: Any, names: tuple[str, ...]) -> str:
    cv2 = sys.modules["cv2"]
    for name in names:
        if type(value) is int and getattr(cv2, prefix + name, None) == value:
            return name
    raise NotNative(f"cv2's {prefix}* of {value!r} has no native form")


def _whole(value: Any, what: str) -> int:
    if type(value) is int:
        return value
    raise NotNative(f"{what}={value!r} is not an integer")


def _pair(value: Any, what: str) -> list[int]:
    """(width, height) as [height, width]."""
    if type(value) not in (tuple, list) or len(value) != 2:
        raise NotNative(f"{what}={value!r} is not (width, height)")
    return [_whole(value[1], what), _whole(value[0], what)]


def _number(value: Any, what: str) -> float:
    if type(value) in (int, float):
        return float(value)
    raise NotNative(f"{what}={value!r} is not a number")


def _resize(given: dict[str, Any], channels: int) -> tuple[Node, int]:
    if given.get("fx", 0) or given.get("fy", 0):
        raise NotNative("cv2.resize with fx or fy has no native form")
    size = _pair(given.get("dsize"), "dsize")
    # From 4 to 5 the bits of CUBIC and of LINEAR_EXACT may differ.
    names = ("NEAREST", "LINEAR", "AREA", "LANCZOS4")
    name = _name("INTER_", given.get("interpolation", 1), names)
    return Node("cv_resize", {"size": size, "interpolation": name}), channels


def _cvt_color(given: dict[str, Any], channels: int) -> tuple[Node, int]:
    if given.get("dstCn", 0):
        raise NotNative("cv2.cvtColor with dstCn has no native form")
    cv2, code = sys.modules["cv2"], given.get("code")
    if code in (cv2.COLOR_BGR2RGB, cv2.COLOR_RGB2BGR) and channels == 3:
        return Node("reverse_channels"), 3
    name = _name("COLOR_", code, _CODES)
    return Node("cv_cvt_color", {"code": name}), 1 if name.endswith("GRAY") else 3


def _flip(given: dict[str, Any], channels: int) -> tuple[Node, int]:
    code = _whole(given.get("flipCode"), "flipCode")
    if code < 0:
        raise NotNative("cv2.flip of both axes has no native form")
    return Node("flip", {"axis": "horizontal" if code > 0 else "vertical"}), channels


def _border(given: dict[str, Any], channels: int) -> tuple[Node, int]:
    sides = [_whole(given.get(side), side) for side in ("left", "top", "right", "bottom")]
    mode = _PADDED[_name("BORDER_", given.get("borderType"), tuple(_PADDED))]
    args: dict[str, Any] = {"padding": sides, "padding_mode": mode, "api": 1}
    value = given.get("value", 0)
    values = list(value) if type(value) in (tuple, list) else [value, 0, 0]
    if any(type(v) not in (int, float) or v != int(v) or not 0 <= v <= 255 for v in values):
        raise NotNative(f"value={value!r} has a native form for whole numbers from 0 to 255")
    if mode == "constant":
        args["fill"] = [float(v) for v in (values + [0, 0])[:channels]]
    return Node("pad", args), channels


def _blur(given: dict[str, Any], channels: int) -> tuple[Node, int]:
    names = ("CONSTANT", "REPLICATE", "REFLECT", "REFLECT_101")
    args = {
        "size": _pair(given.get("ksize"), "ksize"),
        "sigma_x": _number(given.get("sigmaX"), "sigmaX"),
        "sigma_y": _number(given.get("sigmaY", 0), "sigmaY"),
        "border": _name("BORDER_", given.get("borderType", 4), names),
    }
    return Node("cv_gaussian_blur", args), channels


# The parameters after the picture, in cv2's order.
_FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[..., tuple[Node, int]]]] = {
    "resize": (("dsize", "dst", "fx", "fy", "interpolation"), _resize),
    "cvtColor": (("code", "dst", "dstCn"), _cvt_color),
    "flip": (("flipCode", "dst"), _flip),
    "GaussianBlur": (("ksize", "sigmaX", "dst", "sigmaY", "borderType"), _blur),
    "copyMakeBorder": (("top", "bottom", "left", "right", "borderType", "dst", "value"), _border),
}
