"""torchvision's normalize of tensors of float32, in one pass over their memory (tensor_kernels.py).

torch copies the tensor, subtracts in the copy, and divides in it: three passes.
"""

from typing import Any

import torch

from . import tensors
from .tensor_kernels import Kernel

_LEAST = 3 * 64 * 64  # elements; with fewer, the calls are most of the time
_NUMBERS = (int, float)


def _normalized(
    image: Any, mean: Any, deviation: Any, in_place: Any, api: int
) -> torch.Tensor | None:
    if type(image) is not torch.Tensor or image.dtype is not torch.float32 or in_place is not False:
        return None
    if image.dim() < 3 or image.numel() < _LEAST or image.requires_grad:
        return None
    if torch.get_num_threads() != 1:
        return None  # of several, torch may flush denormal numbers in one alone
    if image.device.type != "cpu" or image.layout is not torch.strided or image.is_neg():
        return None
    if api == 2 and 1 in image.shape:
        return None  # of such axes the strides are those of its subtraction
    for numbers in (mean, deviation):
        if type(numbers) not in (list, tuple) or any(type(one) not in _NUMBERS for one in numbers):
            return None
    from .. import _images

    # Where they are dense, both have the strides that a copy of torch's has.
    made = torch.empty_strided(image.shape, image.stride(), dtype=torch.float32, device="cpu")
    done = _images.normalize_floats(
        tensors.array_of(image), mean, deviation, tensors.array_of(made)
    )
    return made if done else None


KERNEL = Kernel(
    "normalize", "normalize", ("mean", "std", "inplace"), {"inplace": False}, _normalized
)
