"""What stands for a tensor of a JPEG file whose pixels nobody has wanted yet.

torchvision.io's decoding returns one where it is shown that the program's code only hands it to a
transform that has a native chain for it (only_use.py, transforms.py). The transform takes the file
instead. So no code of the program's ever looks at it, and it need not look like a tensor.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from . import picture_files
from .redo import Redo


def array_of(tensor: torch.Tensor) -> Any:
    """A view of a tensor of plain numbers, which must outlive it. `Tensor.numpy()` would be one, too, but from then
    on the tensor's memory could not be resized, as a program can see."""
    memory = tensor.untyped_storage()
    kind = np.dtype(str(tensor.dtype).removeprefix("torch."))
    flat: Any = (ctypes.c_uint8 * memory.nbytes()).from_address(memory.data_ptr())
    strides = tuple(step * kind.itemsize for step in tensor.stride())
    begin = tensor.storage_offset() * kind.itemsize
    return np.ndarray(tuple(tensor.shape), kind, flat, begin, strides)


def owned(array: Any) -> torch.Tensor:
    """A tensor of these numbers whose memory is torch's own, as that of one that torch has computed: it can be resized."""
    kind = getattr(torch, array.dtype.name)
    made = torch.empty(array.shape, dtype=kind, device="cpu")
    array_of(made)[...] = array
    return made


def room_for(shape: tuple[int, ...], floats: bool) -> tuple[torch.Tensor, int]:
    """As owned(), of numbers that somebody is about to write, and where its memory begins. uint8, or float32."""
    kind = torch.float32 if floats else torch.uint8
    made = torch.empty(shape, dtype=kind, device="cpu")
    return made, made.data_ptr()


class Undecoded:
    """A file, and what decodes it: `decode` into uint8 [H, W, 3], natively, False if it can't; `library`
    to a tensor, by the library."""

    def __init__(
        self,
        file: bytes,
        size: tuple[int, int],
        decode: Callable[[Any], bool],
        library: Callable[[], torch.Tensor],
    ) -> None:
        self.file = file
        self.size = size  # height, width
        self._decode, self._library = decode, library

    def tensor(self) -> torch.Tensor:
        """A plain tensor, as the library makes it: uint8 [3, H, W], with channels last in memory. Raises
        Redo, or what the library raises."""
        pixels = torch.empty((*self.size, 3), dtype=torch.uint8, device="cpu")
        if self._decode(array_of(pixels)):
            return pixels.permute(2, 0, 1)
        try:
            return self._library()
        except Exception:
            if picture_files.maker().can_redo:
                raise Redo(self.file) from None
            raise


def settle(value: Any) -> Any:
    """With its pixels, if it stands for a tensor. Others: as they are."""
    return value.tensor() if type(value) is Undecoded else value
