"""torchvision's auto-augment transforms: which operations, and how large.

Magnitudes are float32 numbers of torch's linspace, and the matrices that PIL and torchvision's
kernels for tensors turn them into are libm's: they are computed here, as the transform does it, and
are arguments of the node.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from .plan import RANDOM, Node, NotNative

# The order of ops/vision/augment/augment_space.h, and whether half of the magnitudes are negative; None: without.
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
# AutoAugment's and AugMix's own number of bins.
_POLICY_BINS = 10
_MIX_BINS = 10
_MIX_SIDE = 4096  # pixels; AugMixSchema::kMostSide
# AugMix's order. Without all_ops it ends in front of Brightness.
_MIX_OPS = [*_OPS[1:6], *_OPS[10:14], *_OPS[6:10]]
# The order of MatrixProducts in ops/vision/geometry/affine_args.h.
UNKNOWN, FUSED_WHERE_LARGE, NEVER_FUSED = range(3)

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


def aug_mix(t: Any, api: str, named: dict[str, Any]) -> Node:
    """On tensors, whatever the image was: the matrices are those of torchvision's tensor kernels."""
    for name in ("severity", "mixture_width", "chain_depth"):
        if type(getattr(t, name)) is not int:
            raise NotNative(f"{name}={getattr(t, name)!r} has no native form")
    if type(t.alpha) is not float or t._PARAMETER_MAX != _MIX_BINS:
        raise NotNative(f"alpha={t.alpha!r} has no native form")
    if matrix_products() == UNKNOWN:
        raise NotNative("torch multiplies matrices with bits that are not known here")
    space = _space(t, api, _MIX_BINS, _MIX_OPS if t.all_ops else _MIX_OPS[:9], (1, 1))
    space.setdefault("Brightness", [0.0] * _MIX_BINS)
    space = {op: values[: t.severity] for op, values in space.items()}
    exceptions = [_translate_exceptions(bin, _MIX_BINS, _MIX) or [] for bin in range(t.severity)]
    args = {
        "severity": t.severity,
        "mixture_width": t.mixture_width,
        "chain_depth": t.chain_depth,
        "alpha": float(t.alpha),
        "all_ops": int(bool(t.all_ops)),
        "translate_exceptions": sum(exceptions, []) or None,
    }
    return Node("aug_mix", {**args, **_magnitudes(space, api), "rotate": None, **named}, RANDOM)


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
        if not getattr(t, "all_ops", True):
            given = t._PARTIAL_AUGMENTATION_SPACE
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
        "tensor_rotate": _tensor_turns(space["Rotate"], api),
        # Left out where it says what the operators take it for.
        "tensor_grids": NEVER_FUSED if matrix_products() == NEVER_FUSED else None,
        "enhance": space["Brightness"],
        "posterize": [int(m) for m in space["Posterize"]],
        "solarize": [bound * m for m in space["Solarize"]],
    }


def _turn(degrees: float) -> tuple[float, float]:
    """The cosine and the sine of PIL's Image.rotate."""
    angle = -math.radians(degrees % 360.0)
    return round(math.cos(angle), 15), round(math.sin(angle), 15)


def _tensor_turns(degrees: list[float], api: str) -> list[float] | None:
    """The cosines and the sines of torchvision's rotate of tensors."""
    if matrix_products() == UNKNOWN:
        return None
    angles = [angle for m in degrees for angle in (m, -m)]
    turns = [math.radians(-(m if api == "v1" else m % 360)) for m in angles]
    return [value for turn in turns for value in (math.cos(turn), math.sin(turn))]


# How far translations go: the numerator and the denominator of a part of the side, and torchvision's
# expression for it.
_Part = tuple[int, int, Callable[[int], float]]
_WIDE: _Part = (150, 331, lambda side: 150.0 / 331.0 * side)
_MIX: _Part = (1, 3, lambda side: side / 3.0)


@functools.lru_cache(maxsize=64)
def _translate_exceptions(bin: int, bins: int, part: _Part = _WIDE) -> list[int] | None:
    """bin, side and pixels, where float32 falls to the other side of a whole number of pixels."""
    if bin == 0:
        return None
    over, under, end = part
    sides = torch.arange(1, (_MIX_SIDE if part is _MIX else _MOST_SIDE) + 1)
    whole = under * (bins - 1)
    rest = over * sides * bin % whole
    # linspace is off by a few units in the last place of its end.
    slack = over * sides * (bins - 1) // 2**20 + 1
    exceptions = []
    for side in sides[torch.minimum(rest, whole - rest) <= slack].tolist():
        pixels = int(torch.linspace(0.0, end(side), bins)[bin].item())
        if pixels != over * side * bin // whole:
            exceptions += [bin, side, pixels]
    return exceptions or None


@functools.lru_cache(maxsize=1)
def matrix_products() -> int:
    """How torch multiplies the matrices that the grids of affine transforms are made of: UNKNOWN,
    FUSED_WHERE_LARGE or NEVER_FUSED. Its library chooses by the machine."""
    matrix = torch.tensor([[0.0089, -0.0013], [0.0021, 0.0091], [0.0171, -0.0333]])
    forms = {FUSED_WHERE_LARGE, NEVER_FUSED}
    for side, large in ((8, False), (20, True), (150, True)):
        x = (torch.arange(side, dtype=torch.float32) - side * 0.5 + 0.5).repeat(side)
        y = x.view(side, side).T.flatten()
        points = torch.stack([x, y, torch.ones_like(x)], dim=-1)
        product = points.unsqueeze(0).bmm(matrix.unsqueeze(0))[0]
        for column, (a, b, c) in enumerate(matrix.T):
            plain = x * a + y * b
            # One rounding, of an exact product.
            fused = ((x * a).double() + y.double() * b.double()).float()
            expected = {FUSED_WHERE_LARGE: fused if large else plain, NEVER_FUSED: plain}
            forms = {form for form in forms if torch.equal(product[:, column], expected[form] + c)}
    return forms.pop() if len(forms) == 1 else UNKNOWN
