"""Whether this torch and torchvision resize tensors as ops/vision/resample/resample.h does.

Their bits depend on what torch's compiler made of its loops and on which of torch's kernels
torchvision takes, so the client has a look at its own: a few small images against checksums of what
the operators make. v1 computes in float32, of which the images of uint8 show little: there images
of float32 are looked at too. Of those whole numbers show less than fractions, which tensors of float32
hold: they have checksums of their own. Each image is resized in every order of memory in which a
program may have it, and as a part of a larger one: torch chooses its kernels by the order, too.
"""

import functools
import sys
import zlib
from itertools import chain
from typing import Any

import torch

# Keys: API, interpolation and antialias.
_KNOWN = {
    (1, "nearest", False): (
        1970193543, 3842481837, 1238754817, 1559545631, 534043571, 2161708333, 4274736846, 297780076,
    ),
    (1, "nearest-exact", False): (
        2997509780, 4110928823, 3439940088, 683753899, 1613558489, 1879366542, 2119415653, 2875322050,
    ),
    (1, "bilinear", True): (
        2444427889, 2123796186, 3989610493, 127243277, 3552400238, 4267432412, 2466206344, 1749358280,
    ),
    (1, "bicubic", True): (
        2507520248, 464899149, 1546382146, 2802821412, 4243351278, 2041611544, 320562041, 62367704,
    ),
    (2, "nearest", False): (
        1970193543, 1238754817, 534043571, 4274736846,
    ),
    (2, "nearest-exact", False): (
        2997509780, 3439940088, 1613558489, 2119415653,
    ),
    (2, "bilinear", False): (
        3450372113, 3439940088, 303152739, 105073005,
    ),
    (2, "bilinear", True): (
        1658630638, 2777451796, 1801282267, 105073005,
    ),
    (2, "bicubic", False): (
        555347981, 3439940088, 1333926466, 3907329198,
    ),
    (2, "bicubic", True): (
        2127398341, 1365314754, 715975446, 3464179522,
    ),
    (2, "lanczos", True): (
        728631742, 1584908274, 4106492928, 2895950161,
    ),
}  # fmt: skip
# Of fractions in float32, by interpolation and antialias.
_KNOWN_FRACTIONS = {
    ("nearest", False): (3485332823, 1636035615, 1563541906, 1794138366),
    ("nearest-exact", False): (1596901523, 2929736465, 2401194546, 1816241670),
    ("bilinear", True): (2132261295, 3910050753, 1046954673, 1333870448),
    ("bicubic", True): (4214303253, 3150095954, 330207843, 3849255741),
}  # fmt: skip
_MODULES = {1: "torchvision.transforms.functional", 2: "torchvision.transforms.v2.functional"}
# Height and width of an image, and of what it is resized to: small, so that torch does not share the
# work among threads.
_CASES = (((60, 24), (10, 24)), ((42, 35), (6, 5)), ((61, 47), (17, 23)), ((13, 9), (57, 88)))


def arguments(transform: Any, api: int, interpolation: str) -> dict[str, Any]:
    """The arguments of the node of a transform that resizes."""
    # None is False for tensors; so is "warn", which was torchvision's default once.
    antialias = transform.antialias if isinstance(transform.antialias, bool) else None
    return {
        "interpolation": interpolation,
        "antialias": None if antialias is None else int(antialias),
        "tensors": int(_known(api, interpolation, bool(antialias))),
    }


@functools.cache
def _known(api: int, interpolation: str, antialias: bool) -> bool:
    filters = not interpolation.startswith("nearest")
    known = _KNOWN.get((api, interpolation, antialias and filters))
    return known is not None and checksums(api, interpolation, antialias) == known


@functools.cache
def known_floats(api: int, interpolation: str, antialias: bool) -> bool:
    """The checksums of v1 are of images of float32 too, and v2 makes the same of these."""
    way = interpolation, antialias and not interpolation.startswith("nearest")
    if way not in _KNOWN_FRACTIONS:
        return False
    known = zip(_KNOWN[(1, *way)][1::2], _KNOWN_FRACTIONS[way], strict=True)
    return checksums(api, interpolation, antialias, floats=True) == tuple(chain(*known))


def checksums(
    api: int, interpolation: str, antialias: bool, floats: bool = False
) -> tuple[int, ...] | None:
    """Of what torchvision makes of each image; None: it makes nothing, or another thing of the same image
    in another order of memory."""
    functional: Any = sys.modules.get(_MODULES[api])
    try:
        mode = functional.InterpolationMode(interpolation)
        every = [
            _resized(functional, image, list(size), mode, antialias)
            for shape, size in _CASES
            for image in _images(*shape, api, floats)
        ]
    except Exception:  # an older torchvision or torch, which has no such resize
        return None
    return tuple(made.pop() for made in every) if all(len(made) == 1 for made in every) else None


def _resized(
    functional: Any, image: torch.Tensor, size: list[int], mode: Any, antialias: bool
) -> set[int]:
    """The checksums, which are one where the order of memory makes no difference."""
    made = [
        functional.resize(whole, size, mode, antialias=antialias)
        for whole in (image, image.contiguous())
    ]
    height, width = image.shape[1:]
    around = torch.nn.functional.pad(image, (3, 2, 1, 4))
    for larger in (around, around.permute(1, 2, 0).contiguous().permute(2, 0, 1)):
        place = 1, 3, height, width
        made.append(functional.resized_crop(larger, *place, size, mode, antialias=antialias))
    return {zlib.crc32(one.contiguous().numpy().tobytes()) for one in made}


def _images(height: int, width: int, api: int, floats: bool) -> list[torch.Tensor]:
    """Makes images as ToImage does."""
    numbers = torch.arange(height * width * 3, dtype=torch.int64)
    pixels = (numbers * 2654435761 % 4294967291 // 7919 % 256).to(torch.uint8)
    image = pixels.view(height, width, 3).permute(2, 0, 1)
    if floats:
        return [image.to(torch.float32), image.to(torch.float32) / 255 - 0.5]
    return [image, image.to(torch.float32)] if api == 1 else [image]
