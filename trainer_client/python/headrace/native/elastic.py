"""torchvision's ElasticTransform as a node."""

import math
from typing import Any

from . import blurring, float_bits
from .plan import RANDOM, Node, NotNative

_LEAST = 1e-3  # below it, weights are no numbers


def elastic_transform(t: Any, api: str, named: dict[str, Any]) -> Node:
    number = int(api[1])
    alpha, sigma = _pair(t.alpha, "alpha"), _pair(t.sigma, "sigma")
    args: dict[str, Any] = {"alpha": alpha, **named}
    known = float_bits.known(float_bits.FIELDS, number)
    for name, deviation in zip(("across", "down"), sigma, strict=True):
        if deviation <= 0:  # torchvision does not blur then
            continue
        if not all(map(math.isfinite, sigma)) or 0 < min(sigma) < _LEAST:
            raise NotNative(f"sigma={t.sigma!r} has no native form")
        if min(sigma) <= 0:
            raise NotNative(f"sigma={t.sigma!r} blurs in one direction alone")
        size = int(8 * deviation + 1) | 1
        if size > blurring.MOST_WEIGHTS:
            raise NotNative(f"sigma={t.sigma!r} needs a kernel of {size}, which has no native form")
        for side, of_side in zip(("columns", "rows"), sigma, strict=True):
            args[f"{name}_{side}"] = blurring.weights(size, of_side, number)
            known = known and blurring.blur_known(number, size, of_side)
    return Node("elastic_transform", {**args, "known_sums": int(known)}, RANDOM)


def _pair(values: Any, name: str) -> list[float]:
    if type(values) not in (list, tuple) or [type(value) for value in values] != [float, float]:
        raise NotNative(f"{name}={values!r} has no native form")
    return list(values)
