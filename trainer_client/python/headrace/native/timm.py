"""timm's transforms as operator nodes. They draw from Python's generator (ADR 0045).

What their code does is known by its text: timm_text.py.
"""

import math
from collections.abc import Callable
from typing import Any

from . import timm_augment
from .arguments import interpolation, ints
from .plan import PURE, RANDOM, Node, NotNative
from .timm_augment import number

_FROM_PYTHON = {"generator": "python"}
# timm's interpolation="random": it draws one of them.
_RANDOM_WAYS = ["bilinear", "bicubic"]


def _random_resized_crop(t: Any) -> Node:
    if type(t.size) is not tuple or len(t.size) != 2:  # of one side, it is the shorter one's
        raise NotNative(f"size={t.size!r} has no native form")
    ratio = _pair("ratio", t.ratio)
    if min(ratio) <= 0:
        raise NotNative(f"ratio={t.ratio!r} has no native form")
    args = {
        "size": ints(t.size),
        "scale": _pair("scale", t.scale),
        "ratio": ratio,
        "log_ratio": [math.log(bound) for bound in t.ratio],
        "interpolation": _way(t.interpolation),
    }
    return Node("timm_random_resized_crop", {**args, **_FROM_PYTHON}, RANDOM)


def _way(given: Any) -> str:
    several = isinstance(given, tuple | list)
    ways = list(given) if several else [given]
    if any(type(way).__name__ != "InterpolationMode" for way in ways):
        raise NotNative(f"interpolation={given!r} has no native form")
    names = [interpolation(way) for way in ways]
    if not several:
        return names[0]
    if names != _RANDOM_WAYS:
        raise NotNative(f"interpolation={given!r} has no native form")
    return "random"


def _random_erasing(t: Any) -> Node:
    if t.rand_color or t.per_pixel:
        raise NotNative(
            f"RandomErasing(mode={t.mode!r}) fills with random numbers, which has no native form",
            "mode='const'",
        )
    if str(t.device) != "cpu":
        raise NotNative(f"RandomErasing(device={t.device!r}) has no native form", "device='cpu'")
    if type(t.min_count) is not int or type(t.max_count) is not int:
        raise NotNative(f"RandomErasing erases {t.min_count!r} to {t.max_count!r} rectangles")
    args = {
        "probability": number("probability", t.probability),
        "scale": _pair("the area", (t.min_area, t.max_area)),
        "log_ratio": _pair("log_aspect_ratio", t.log_aspect_ratio),
        "min_count": t.min_count,
        "max_count": t.max_count,
    }
    return Node("timm_random_erasing", {**args, **_FROM_PYTHON}, RANDOM)


def _pair(name: str, value: Any) -> list[float]:
    if type(value) not in (tuple, list) or len(value) != 2:
        raise NotNative(f"{name}={value!r} is not two numbers")
    return [number(name, bound) for bound in value]


TABLE: dict[str, Callable[[Any], Node]] = {
    "timm.AutoAugment": timm_augment.auto_augment,
    # Of a tensor they give the tensor back; the operators refuse tensors.
    "timm.MaybePILToTensor": lambda t: Node("pil_to_tensor", {}, PURE),
    "timm.MaybeToTensor": lambda t: Node("to_tensor", {}, PURE),
    "timm.RandAugment": timm_augment.rand_augment,
    "timm.RandomErasing": _random_erasing,
    "timm.RandomResizedCropAndInterpolation": _random_resized_crop,
}
