"""torchvision's adjust_hue of tensors of uint8, natively, whatever transform or code calls it (tensor_kernels.py).

Of the colours of a tensor it alone is many times as quick: torch makes some forty tensors of floats for it.
"""

from typing import Any

import torch

from . import tensors
from .tensor_kernels import Kernel

_LEAST_PIXELS = 32 * 32


def _hue(image: Any, factor: Any, api: int) -> torch.Tensor | None:
    if type(image) is not torch.Tensor or image.dtype is not torch.uint8 or image.dim() != 3:
        return None
    channels, height, width = image.shape
    if channels != 3 or min(height, width) < 2 or height * width < _LEAST_PIXELS:
        return None
    if image.device.type != "cpu" or image.layout is not torch.strided:
        return None
    if type(factor) is not float:
        return None
    from .. import _images

    # As torch leaves the last of its tensors in memory.
    strides = (1, 3 * width, 3) if api == 1 else (height * width, width, 1)
    made = torch.empty_strided(tuple(image.shape), strides, dtype=torch.uint8, device="cpu")
    done = _images.turn_hue(tensors.array_of(image), factor, api, tensors.array_of(made))
    return made if done else None


KERNEL = Kernel("adjust_hue", "turn_hue", ("hue_factor",), {}, _hue)
