"""Batches in pinned memory (pin_memory=True), as the stock loader's pinning thread makes them.

What is pinned, and how containers come out, is torch's own code. Only large tensors are copied here
before it, by a few threads (Session.copy). torch's own copy has a thread on each core when it runs in
the program's thread, and they wait for each other at full speed: on 16 cores it took about a fifth of
the machine's CPU time from the workers (bench/report/README.md). torch lets a tensor be that is
pinned already.

The arena's slots are not registered with CUDA, though the GPU copies from such memory as fast. A copy
that does not block may still read a slot when the program has dropped the batch. torch's allocator
knows of such copies of its own memory alone; the slot would be a worker's to write.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import _utils

# bytes; a smaller tensor is torch's to copy, in the program's thread alone
_LEAST = 1 << 20

# Copies so many bytes from the second address to the first.
Copy = Callable[[int, int, int], None]


def pinned(data: Any, device: Any, copy: Copy | None) -> Any:
    """The batch in pinned memory. `device`: a loader's _pin_memory_device; `copy`: None leaves all
    to torch."""
    if copy is not None:
        data = with_large_pinned(data, copy, _new)
    return _utils.pin_memory.pin_memory(data, device)


def with_large_pinned(data: Any, copy: Copy, new: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same with each large tensor copied into what `new` makes like it. Looks into lists, tuples
    and dicts alone: other containers are torch's to take apart."""
    kind = type(data)
    if kind is torch.Tensor:
        if not _is_plain(data):
            return data
        made = new(data)
        copy(made.data_ptr(), data.data_ptr(), data.nbytes)
        return made
    if kind is list or kind is tuple:
        return kind([with_large_pinned(part, copy, new) for part in data])
    if kind is dict:
        return {key: with_large_pinned(part, copy, new) for key, part in data.items()}
    return data


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether its bytes lie together and are all there is to it."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and tensor.nbytes >= _LEAST
        and (tensor.is_contiguous() or _is_channels_last(tensor))
        and not tensor.requires_grad
        and not tensor.is_conj()
        and not tensor.is_neg()
        and not tensor.is_pinned()
    )


def _is_channels_last(tensor: torch.Tensor) -> bool:
    return tensor.ndim == 4 and tensor.is_contiguous(memory_format=torch.channels_last)


def _new(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(
        tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu", pin_memory=True
    )
