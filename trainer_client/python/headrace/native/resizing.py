"""Whether this torch and torchvision resize tensors as ops/vision/resample/resample.h does.

Their bits depend on what torch's compiler made of its loops and on which of torch's kernels
torchvision takes, so the client has a look at its own: a few small images against checksums of what
the operators make. v1 computes in float32, of which the images of uint8 show little: there images
of float32 are looked at too.
"""

import functools
import sys
import zlib
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
    filters = not interpolation.startswith("nearest")
    known = _KNOWN.get((1, interpolation, antialias and filters))
    made = checksums(api, interpolation, antialias, floats=True)
    return known is not None and made == known[1::2]


def checksums(
    api: int, interpolation: str, antialias: bool, floats: bool = False
) -> tuple[int, ...] | None:
    functional: Any = sys.modules.get(_MODULES[api])
    try:
        mode = functional.InterpolationMode(interpolation)
        return tuple(
            zlib.crc32(
                functional.resize(image, list(size), mode, antialias=antialias)
                .contiguous()
                .numpy()
                .tobytes()
            )
            for shape, size in _CASES
            for image in _images(*shape, api, floats)
        )
    except Exception:  # an older torchvision or torch, which has no such resize
        return None


def _images(height: int, width: int, api: int, floats: bool) -> list[torch.Tensor]:
    """Makes images as ToImage does."""
    numbers = torch.arange(height * width * 3, dtype=torch.int64)
    pixels = (numbers * 2654435761 % 4294967291 // 7919 % 256).to(torch.uint8)
    image = pixels.view(height, width, 3).permute(2, 0, 1)
    if floats:
        return [image.to(torch.float32)]
    return [image, image.to(torch.float32)] if api == 1 else [image]
