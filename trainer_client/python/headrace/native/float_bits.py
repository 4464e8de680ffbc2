"""Whether this torch and torchvision change elements of float32 as ops/vision/tensor/float_ops.h does.

As resizing.py looks at resizes: checksums of what they make of a few images.
"""

import functools
import itertools
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

# FIELDS: grids whose places are given one by one.
COLORS, GRIDS, FIELDS = "colors", "grids", "fields"
# Keys: what is looked at, and the API.
_KNOWN: dict[tuple[str, int], tuple[int, ...]] = {
    (COLORS, 1): (
        4191553355, 1657312792, 3250877587, 4242977456, 4181677236, 2139898368,
        411596524, 2126002351,
    ),
    (COLORS, 2): (
        3323405893, 1657312792, 441922835, 13238360, 4019302127, 2139898368,
        411596524, 4255612867, 2470415219,
    ),
    (GRIDS, 1): (
        3124774171, 3676961129, 1499470715, 1929212639, 2482048743, 2254795888,
        2482238713, 2850379321,
    ),
    (GRIDS, 2): (
        3124774171, 3676961129, 1499470715, 1929212639, 2482048743, 2254795888,
        2798900477, 2162325207,
    ),
    (FIELDS, 1): (1436385182, 1552205916, 95165634, 1003910615),
    (FIELDS, 2): (1436385182, 1552205916, 95165634, 3142338829),
}  # fmt: skip
_MODULES = {1: "torchvision.transforms.functional", 2: "torchvision.transforms.v2.functional"}
# Heights and widths: vectors with and without a rest, and sums of several blocks. Colors: too small
# for torch to share the work among threads. Grids: torch itself multiplies matrices that small, on
# every CPU (augment.matrix_products looks at the others).
_SIZES = {
    COLORS: ((1, 5), (3, 37), (61, 47), (96, 112)),
    GRIDS: ((1, 5), (8, 8), (7, 9)),
    FIELDS: ((1, 5), (8, 8), (61, 47)),
}
_Call = Callable[[Any, torch.Tensor], torch.Tensor]
_COLORS: tuple[_Call, ...] = (
    lambda f, image: f.rgb_to_grayscale(image, 3),
    lambda f, image: f.adjust_brightness(image, 1.3),
    lambda f, image: f.adjust_contrast(image, 0.3),
    lambda f, image: f.adjust_saturation(image, 1.7),
    lambda f, image: f.adjust_hue(image, 0.2),
    lambda f, image: f.invert(image),
    lambda f, image: f.solarize(image, 0.4),
    lambda f, image: f.autocontrast(image),
)


def known(what: str, api: int) -> bool:
    return checksums(what, api) == _KNOWN[what, api]


@functools.cache
def checksums(what: str, api: int) -> tuple[int, ...]:
    """Empty: an older torchvision or torch, which has not all of these."""
    functional: Any = sys.modules.get(_MODULES[api])
    try:
        return tuple(
            zlib.crc32(
                b"".join(
                    call(functional, image).contiguous().numpy().tobytes()
                    for size in _SIZES[what]
                    for image in _images(*size)
                )
            )
            for call in _calls(what, api)
        )
    except Exception:
        return ()


def _calls(what: str, api: int) -> Iterator[_Call]:
    if what == COLORS:
        yield from _COLORS
        if api == 2:  # v1 raises
            yield lambda f, image: f.posterize(image, 3)
        return
    for mode, fill in itertools.product(("nearest", "bilinear"), (None, [0.3, -0.2, 0.9])):
        if what == FIELDS:
            yield functools.partial(_elastic, mode=mode, fill=fill)
            continue
        yield functools.partial(_affine, mode=mode, fill=fill)
        yield functools.partial(_perspective, mode=mode, fill=fill)


def _affine(f: Any, image: torch.Tensor, mode: str, fill: Any) -> Any:
    way = f.InterpolationMode(mode)
    return f.affine(image, 30.0, [1, 2], 0.9, [5.0, 3.0], interpolation=way, fill=fill)


def _perspective(f: Any, image: torch.Tensor, mode: str, fill: Any) -> Any:
    """By coefficients: what torch.linalg makes of points depends on the machine."""
    numbers = [0.9, 0.2, -0.5, 0.1, 1.1, 0.25, 0.01, -0.02]
    if f.__name__ == _MODULES[2]:
        way = f.InterpolationMode(mode)
        return f.perspective(image, None, None, way, fill, coefficients=numbers)
    tensors: Any = sys.modules["torchvision.transforms._functional_tensor"]
    return tensors.perspective(image, numbers, mode, fill)


def _elastic(f: Any, image: torch.Tensor, mode: str, fill: Any) -> Any:
    height, width = image.shape[-2:]
    numbers = torch.arange(height * width * 2, dtype=torch.int64) * 40503 % 65521 % 997
    field = ((numbers.to(torch.float32) - 498) / 2048).view(1, height, width, 2)
    call = f.elastic if f.__name__ == _MODULES[2] else f.elastic_transform
    return call(image, field, f.InterpolationMode(mode), fill)


def _images(height: int, width: int) -> list[torch.Tensor]:
    """Of elements from -0.25 to 1.25, as ToTensor and as ToImage lay them."""
    numbers = torch.arange(height * width * 3, dtype=torch.int64)
    whole = numbers * 2654435761 % 4294967291 // 7919 % 4093
    image = (whole.to(torch.float32) / 2728 - 0.25).view(height, width, 3).permute(2, 0, 1)
    return [image.contiguous(), image]
