"""A process as a stage host is, for torchvision.io's tensors; and what was deferred in it."""

import numpy as np
import torch
from torchvision.io import ImageReadMode, decode_image

from .photos import encode_photo


def enable():
    """Enables them as in a host while it makes a batch."""
    from headrace.stage import functions, images

    images.enable([])
    functions.enable()
    images._current.on = True
    return images._current


def encoded(file):
    return torch.frombuffer(bytearray(file), dtype=torch.uint8)


def decoded(maker, file, on, mode=ImageReadMode.RGB):
    maker.on = on
    tensor = decode_image(encoded(file), mode)
    maker.on = True
    return tensor


def transformed(transform, file):
    data = encoded(file)
    return transform(decode_image(data, ImageReadMode.RGB))


def checked(maker):
    """After the checks of every kind of file."""
    for seed in range(3):
        for _ in range(3):
            for mode in (ImageReadMode.RGB, ImageReadMode.UNCHANGED):
                decoded(maker, encode_photo(20, 30, seed), True, mode)


class Deferred:
    """Counts what stood for a tensor, and what of it became one."""

    def __init__(self):
        from headrace.stage import tensors

        self.made = self.settled = 0
        real_init, real_tensor = tensors.Undecoded.__init__, tensors.Undecoded.tensor

        def init(undecoded, *args):
            self.made += 1
            real_init(undecoded, *args)

        def tensor(undecoded):
            self.settled += 1
            return real_tensor(undecoded)

        tensors.Undecoded.__init__, tensors.Undecoded.tensor = init, tensor

    def take(self):
        counts = self.made, self.settled
        self.made = self.settled = 0
        return counts


def as_bits(value):
    if isinstance(value, torch.Tensor):
        order = value.stride() if value.is_contiguous() else value.contiguous().stride()
        return type(value), value.dtype, tuple(value.shape), order, value.numpy().tobytes()
    if isinstance(value, torch.Size | torch.UntypedStorage):
        return repr(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, list | tuple):
        return [as_bits(part) for part in value]
    if isinstance(value, dict):
        return {key: as_bits(part) for key, part in value.items()}
    return value
