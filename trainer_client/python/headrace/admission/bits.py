"""Copies of tensors, and whether two have the same bits, on the calling thread alone.

torch divides such work between threads even where it takes microseconds. In a program that has begun
no thread of torch's yet, the first of them then costs milliseconds; on a busy host each does.
"""

import ctypes
import pickle
from io import BytesIO
from typing import Any

import numpy as np
import torch

# Tensor.numpy() would do, but after it the program can't resize the tensor any more.


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Types, shapes and bits. REQUIRES: dense tensors of the CPU."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = a.detach().contiguous(), b.detach().contiguous()  # kept while their memory is looked at
    return np.array_equal(_memory(a), _memory(b))


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous copy. REQUIRES: a dense tensor of the CPU."""
    tensor = tensor.detach().contiguous()
    copy = torch.empty(tensor.shape, dtype=tensor.dtype)
    ctypes.memmove(copy.data_ptr(), tensor.data_ptr(), tensor.nbytes)
    return copy


def dumps(value: Any) -> bytes:
    """A pickle in which plain tensors are their bytes. torch's own form of a tensor is an archive,
    which takes milliseconds to write and to read. That two tensors share memory is lost."""
    buffer = BytesIO()
    _Pickler(buffer, protocol=5).dump(value)
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is torch.Tensor and _is_plain(value):
            raw = ctypes.string_at(value.data_ptr(), value.nbytes)
            return _loaded, (raw, value.dtype, tuple(value.shape))
        return NotImplemented


def _loaded(raw: bytes, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    tensor = torch.empty(shape, dtype=dtype)
    ctypes.memmove(tensor.data_ptr(), raw, len(raw))
    return tensor


def _memory(tensor: torch.Tensor) -> np.ndarray:
    """Its bytes, as long as it lives. REQUIRES: contiguous."""
    return np.asarray((ctypes.c_uint8 * tensor.nbytes).from_address(tensor.data_ptr()))


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether the bytes, the type and the shape are all of it."""
    return (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and tensor.is_contiguous()
        and not tensor.requires_grad
        and not tensor.is_quantized
        and not tensor.is_conj()
        and not tensor.is_neg()
        and tensor.numel() > 0
        and not vars(tensor)
    )
