"""torchvision's auto-augment transforms: which operations, and how large.

Magnitudes are float32 numbers of torch's linspace, and the matrices that PIL turns them into are
libm's: they are computed here, as the transform does it, and are arguments of the node.
"""

import functools
import math
from typing import Any

import torch

from .plan import RANDOM, Node, NotNative

# The order of ops/core/augment.h, and whether half of the magnitudes are negative; None: without.
_SIGNED = {
    "Identity": None,
    "ShearX": True,
    "ShearY": True,
    "TranslateX": True,
    "TranslateY": True,
    "Rotate": True,
    "Brightness": True,
    "Color": True,
    "Contrast": True,
    "Sharpness": True,
    "Posterize": False,
    "Solarize": False,
    "AutoContrast": None,
    "Equalize": None,
    "Invert": None,
}
_OPS = list(_SIGNED)
_MOST_BINS = 1000
_MOST_SIDE = 32768  # pixels; AugmentSpace::kMostSide
# AutoAugment's own number of bins.
_POLICY_BINS = 10

# Names of operations with their magnitudes by bin; no list: they have none.
Space = dict[str, list[float]]


def trivial_augment_wide(t: Any, api: str, named: dict[str, Any]) -> Node:
    bins = _bins(t.num_magnitude_bins)
    space = _space(t, api, bins, _OPS[:-1])
    args = {"num_magnitude_bins": bins, "translate": [int(m) for m in space["TranslateX"]]}
    return Node("trivial_augment_wide", {**args, **_magnitudes(space, api), **named}, RANDOM)


def rand_augment(t: Any, api: str, named: dict[str, Any]) -> Node:
    bins, magnitude = _bins(t.num_magnitude_bins), t.magnitude
    if type(magnitude) is not int or not 0 <= magnitude < bins:
        raise NotNative(f"magnitude={magnitude!r} has no native form")
    if type(t.num_ops) is not int:
        raise NotNative(f"num_ops={t.num_ops!r} has no native form")
    space = _space(t, api, bins, _OPS[:-1], (1, 1))
    space = {op: values[magnitude : magnitude + 1] for op, values in space.items()}
    args = {
        "num_ops": t.num_ops,
        "magnitude": magnitude,
        "num_magnitude_bins": bins,
        "translate_exceptions": _translate_exceptions(magnitude, bins),
    }
    return Node("rand_augment", {**args, **_magnitudes(space, api), **named}, RANDOM)


def auto_augment(t: Any, api: str, named: dict[str, Any]) -> Node:
    policies = t.policies if api == "v1" else t._policies
    if not all(len(policy) == 2 for policy in policies):
        raise NotNative("policies that are not pairs have no native form")
    steps = [step for policy in policies for step in policy]
    for op, _, magnitude in steps:
        wanted = op in _SIGNED and (_SIGNED[op] is None) == (magnitude is None)
        if not wanted or type(magnitude or 0) is not int:
            raise NotNative(f"the policy {(op, magnitude)!r} has no native form")
    space = _space(t, api, _POLICY_BINS, _OPS[1:], (1, 1))
    translated = {magnitude for op, _, magnitude in steps if op.startswith("Translate")}
    exceptions = [_translate_exceptions(bin, _POLICY_BINS) or [] for bin in sorted(translated)]
    args = {
        "policy_ops": [_OPS.index(op) for op, _, _ in steps],
        "policy_probabilities": [float(probability) for _, probability, _ in steps],
        "policy_magnitudes": [-1 if magnitude is None else magnitude for _, _, magnitude in steps],
        "translate_exceptions": sum(exceptions, []) or None,
    }
    return Node("auto_augment", {**args, **_magnitudes(space, api), **named}, RANDOM)


def _bins(value: Any) -> int:
    if type(value) is not int or not 2 <= value <= _MOST_BINS:
        raise NotNative(f"num_magnitude_bins={value!r} has no native form")
    return value


def _space(t: Any, api: str, bins: int, ops: list[str], *size: tuple[int, int]) -> Space:
    if api == "v1":
        given = t._augmentation_space(bins, *size)
        space = {op: (m if m.ndim else None, signed) for op, (m, signed) in given.items()}
    else:
        height, width = size[0] if size else (1, 1)
        given = t._AUGMENTATION_SPACE
        space = {op: (make(bins, height, width), signed) for op, (make, signed) in given.items()}
    if {op: bool(_SIGNED[op]) for op in ops} != {op: signed for op, (_, signed) in space.items()}:
        raise NotNative("its augmentation space is not torchvision's")
    if list(space) != ops:
        raise NotNative("its augmentation space has another order than torchvision's")
    return {op: [] if m is None else m.tolist() for op, (m, _) in space.items()}


def _magnitudes(space: Space, api: str) -> dict[str, Any]:
    shears = [math.radians(math.degrees(math.atan(m))) for m in space["ShearX"]]
    bound = 1.0 if api == "v1" else 255.0
    return {
        "shear_x": [math.tan(angle) for angle in shears],
        "shear_y": [math.sin(angle) / math.cos(angle) for angle in shears],
        "rotate": [v for m in space["Rotate"] for v in (*_turn(m), *_turn(-m))],
        "enhance": space["Brightness"],
        "posterize": [int(m) for m in space["Posterize"]],
        "solarize": [bound * m for m in space["Solarize"]],
    }


def _turn(degrees: float) -> tuple[float, float]:
    """The cosine and the sine of PIL's Image.rotate."""
    angle = -math.radians(degrees % 360.0)
    return round(math.cos(angle), 15), round(math.sin(angle), 15)


@functools.lru_cache(maxsize=64)
def _translate_exceptions(bin: int, bins: int) -> list[int] | None:
    """bin, side and pixels, where float32 falls to the other side of a whole number of pixels."""
    if bin == 0:
        return None
    sides = torch.arange(1, _MOST_SIDE + 1)
    whole = 331 * (bins - 1)
    rest = 150 * sides * bin % whole
    # linspace is off by a few units in the last place of its end.
    slack = 150 * sides * (bins - 1) // 2**20 + 1
    exceptions = []
    for side in sides[torch.minimum(rest, whole - rest) <= slack].tolist():
        pixels = int(torch.linspace(0.0, 150.0 / 331.0 * side, bins)[bin].item())
        if pixels != 150 * side * bin // whole:
            exceptions += [bin, side, pixels]
    return exceptions or None
