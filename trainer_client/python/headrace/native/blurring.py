"""Whether this torch and torchvision blur as ops/vision/tensor/convolve.h does.

The bits of a blur are the order in which torch's conv2d sums. torch gives the work to oneDNN, which
chooses its code by the CPU and by the shape. The code that oneDNN takes for these shapes is known for
the versions in `_ONEDNN`. The client also looks at its own: it blurs a few small images of float32, where
each bit of the sums shows, and compares them with fused sums in the native order.
"""

import functools
import itertools
import re
import sys
from typing import Any

import numpy as np
import torch

from . import binding
from .plan import RANDOM, Node, NotNative

# The first two numbers of the versions of oneDNN that were compared over many shapes.
_ONEDNN = ("3.12",)
_MODULES = {
    1: "torchvision.transforms._functional_tensor",
    2: "torchvision.transforms.v2.functional._misc",
}
MOST_WEIGHTS = 255  # of a side; as in ops/vision/geometry/blur.h


def gaussian_blur(t: Any, api: str) -> Node:
    size, sigma = list(t.kernel_size), [float(s) for s in t.sigma]
    if len(size) != 2 or not all(type(k) is int and 0 < k <= MOST_WEIGHTS for k in size):
        raise NotNative(f"kernel_size={t.kernel_size!r} has no native form")
    number = int(api[1])
    args = {
        "positions_x": _positions(size[0], number),
        "positions_y": _positions(size[1], number),
        "sigma": sigma,
        "known_sums": int(_known(number, *size, *sigma, _settings())),
    }
    return Node("gaussian_blur", args, RANDOM)


def weights(size: int, sigma: float, api: int) -> list[float]:
    """The weights of one side of a blur, as this torch computes them."""
    made = binding.gaussian_weights(_positions(size, api), sigma, api)
    return np.frombuffer(made, np.float32).tolist()  # type: ignore[no-any-return]


def blur_known(api: int, size: int, sigma: float) -> bool:
    """Whether torch's blur of one channel by a square kernel has the native sums."""
    return _known(api, size, size, sigma, sigma, _settings(), (1,))


def sums_known(api: int) -> bool:
    """Whether torch's convolution by a kernel of 3 x 3 has the native sums."""
    return _known(api, 3, 3, 1.0, 1.0, _settings())


def _positions(size: int, api: int) -> list[float]:
    """As torchvision computes them."""
    half = (size - 1) * 0.5 if api == 1 else (size - 1) / (2.0 * np.sqrt(2.0))
    return torch.linspace(-half, half, steps=size, dtype=torch.float32).tolist()


def _settings() -> tuple[Any, ...]:
    """The program's settings that have torch convolve in another way."""
    mkldnn: Any = torch.backends.mkldnn
    return (
        mkldnn.is_available() and torch._C._get_mkldnn_enabled(),
        torch.get_float32_matmul_precision(),
        getattr(getattr(mkldnn, "conv", None), "fp32_precision", None),
        torch.are_deterministic_algorithms_enabled(),
    )


@functools.lru_cache(maxsize=64)
def _known(
    api: int,
    columns: int,
    rows: int,
    low: float,
    high: float,
    settings: tuple[Any, ...],
    channels: tuple[int, ...] = (1, 3),
) -> bool:
    version = re.search(r"MKL-DNN v(\d+\.\d+)", torch.__config__.show())
    if version is None or version[1] not in _ONEDNN or not settings[0]:
        return False
    module: Any = sys.modules.get(_MODULES[api])
    try:
        return all(
            _same(module, api, columns, rows, sigma, count)
            for sigma, count in itertools.product({low, (low + high) / 2, high}, channels)
        )
    except Exception:  # an older torchvision or torch, or one that does not compute the weights
        return False


def _same(module: Any, api: int, columns: int, rows: int, sigma: float, channels: int) -> bool:
    """Whether one image is what the native operator makes, before it is rounded."""
    sigma = float(np.float32(sigma))
    weights = [
        np.frombuffer(binding.gaussian_weights(_positions(size, api), sigma, api), np.float32)
        for size in (columns, rows)
    ]
    height, width = rows // 2 + 9, columns // 2 + 21
    if channels == 1 and min(columns, rows) <= 3:  # only larger images are native
        height, width = 150, 150
    image = _image(height, width, channels)
    blur = module.gaussian_blur if api == 1 else module.gaussian_blur_image
    made = blur(torch.from_numpy(image), [columns, rows], [sigma, sigma])
    return bool(made.numpy().tobytes() == _blurred(image, *weights).tobytes())


def _image(height: int, width: int, channels: int) -> np.ndarray:
    numbers = np.arange(channels * height * width, dtype=np.int64)
    pixels = numbers * 2654435761 % 4294967291 // 7919 % 256
    return pixels.reshape(channels, height, width).astype(np.float32)


def _blurred(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row by row of the weights, and column by column in each row, by fused operations: a product of
    a pixel and a weight is exact in float64, and so are nearly all sums with a float32 number."""
    top, left = len(y) // 2, len(x) // 2
    padded = np.pad(image, ((0, 0), (top, top), (left, left)), "reflect").astype(np.float64)
    _, height, width = image.shape
    weights = (y[:, None] * x[None, :]).astype(np.float64)
    sums = np.zeros(image.shape, np.float32)
    for i, j in np.ndindex(len(y), len(x)):
        part = padded[:, i : i + height, j : j + width]
        sums = (sums + part * weights[i, j]).astype(np.float32)
    return sums
