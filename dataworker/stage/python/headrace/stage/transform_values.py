"""What goes between the parts of a torchvision transform in a Python stage (transforms.py), and how results compare."""

from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image

from . import pixel_memory
from .plain_pictures import is_pils
from .recipes import Run
from .run_forms import Like
from .tensors import array_of, owned


class Pixels(NamedTuple):
    """An image between two parts."""

    array: np.ndarray  # uint8 [H, W, 3], or [H, W, 1] of mode L
    info: dict[str, Any]  # of the PIL image that it comes from

    def image(self) -> Image.Image:
        height, width, channels = self.array.shape
        if channels == 3:
            image = pixel_memory.here().image(self.array)
        else:
            image = Image.frombytes("L", (width, height), self.array)
        image.info = dict[Any, Any](self.info)
        return image


def is_image(value: Any) -> bool:
    """Between two parts, it may be a tensor too."""
    return isinstance(value, Pixels) or (is_pils(value) and value.mode in ("RGB", "L"))


def channels_of(value: Any) -> int:
    return value.array.shape[2] if isinstance(value, Pixels) else len(value.getbands())


def shown(value: Any) -> Any:
    """The value as user code may see it."""
    return value.image() if isinstance(value, Pixels) else value


def by_hand(run: Run, value: Any) -> Any:
    for leaf in run.leaves:
        value = leaf(value)
    return value


def bits(value: Any) -> bytes:
    """Of what Python makes."""
    if isinstance(value, torch.Tensor):
        return bytes(value.detach().contiguous().view(torch.uint8).numpy())
    return value.tobytes() if isinstance(value, Image.Image) else b""


def made_bits(made: Any) -> bytes:
    """Of what a run has made: a tensor, or an array."""
    return bytes((array_of(made) if isinstance(made, torch.Tensor) else made).tobytes())


def made_like(like: Like, made: Any) -> Any:
    """The tensor, of the type and in the order of memory that Python gives it."""
    return ordered(like, made, like.channels_last)


def ordered(like: Like, made: Any, channels_last: bool) -> Any:
    """`made`: a tensor, or an array."""
    if not isinstance(made, torch.Tensor):
        made = owned(made)
    if channels_last and not made.stride(0) == 1:
        channels, height, width = made.shape
        made = torch.empty(height, width, channels, dtype=made.dtype).permute(2, 0, 1).copy_(made)
    return made if like.kind is torch.Tensor else made.as_subclass(like.kind)
