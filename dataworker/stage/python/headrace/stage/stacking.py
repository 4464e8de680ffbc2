"""default_collate's stacks of two kinds of samples. Nothing is computed, so there is nothing to compare.

Pictures that are a view of interleaved pixels, from_numpy(x).permute(2, 0, 1): most programs make a picture's
tensor from an array in this way, and .float() keeps the order of the elements. torch stacks such tensors
element by element.

Small arrays: torch makes a tensor of each, which takes 1 µs, and copies it in 0.1 µs.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

from ..native.genuine import is_genuine

_LEAST_BYTES = 1 << 12  # of a picture; smaller ones are torch's
_MOST_BYTES = 1 << 12  # of a small array
# torch has the same number types, and copies their bytes. Not bool: where a byte is neither 0 nor 1, as in a view of a
# mask of 0 and 255, torch copies it or makes it 1, by the form of the sample.
_KINDS = frozenset("bBhilqefd")


@contextmanager
def stacking() -> Iterator[None]:
    """Inside, default_collate has its stacks from here."""
    import torch
    from torch.utils.data._utils import collate

    functions: Any = collate.default_collate_fn_map
    if not _is_torchs(functions, torch.Tensor, "collate_tensor_fn", torch.stack):
        yield  # the program's own
        return
    real = functions.copy()
    ours: dict[Any, Any] = {torch.Tensor: _with(_stacked, real[torch.Tensor])}
    numpy = sys.modules.get("numpy")
    array = getattr(numpy, "ndarray", None)
    if numpy is not None and _is_torchs(
        functions, array, "collate_numpy_array_fn", torch.as_tensor
    ):
        joined = functools.partial(_joined, numpy=numpy)
        ours[array] = _with(joined, real[array], ours[torch.Tensor])
    functions.update(ours)
    try:
        yield
    finally:
        for kind, function in ours.items():
            if functions.get(kind) is function:
                functions[kind] = real[kind]


def _is_torchs(functions: Any, kind: Any, name: str, builtin: Any) -> bool:
    """Whether samples of `kind` are collated by torch's function of this name, with what it calls."""
    from torch.utils.data._utils import collate

    real: Any = getattr(collate, name, None)
    is_real = real is not None and functions.get(kind) is real and is_genuine(real, "torch")
    return is_real and isinstance(builtin, BuiltinFunctionType)


def _with(
    stack: Callable[[Any, Any], Any],
    real: Callable[..., Any],
    of_tensors: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """`real`, where `stack` gives None. `of_tensors`: what `real` calls then, by the table that it is given."""
    import torch

    @functools.wraps(real)
    def collate_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
        table = collate_fn_map or {}
        if of_tensors is not None and table.get(torch.Tensor) is not of_tensors:
            return real(batch, collate_fn_map=collate_fn_map)
        made = stack(torch, batch)
        return real(batch, collate_fn_map=collate_fn_map) if made is None else made

    return collate_fn


def _joined(torch: Any, batch: Any, numpy: Any) -> Any:
    """Small arrays. None: torch has to do it, and to say what is wrong."""
    first = batch[0]
    if not _is_small(numpy, first) or not _is_plain_worker(torch):
        return None
    kind, shape, steps = first.dtype, first.shape, first.strides
    if not _steps_on(first):
        return None
    for sample in batch:
        if type(sample) is not numpy.ndarray or sample.dtype != kind or sample.shape != shape:
            return None
        if sample.strides != steps and not _steps_on(sample):
            return None  # torch does not take it, and of others it warns
        flags = sample.flags
        if not (flags.writeable and flags.aligned):
            return None
    out = _room(torch, torch.as_tensor(first), len(batch))
    rows = out.numpy()
    for row, sample in enumerate(batch):
        rows[row] = sample
    return out


def _steps_on(array: Any) -> bool:
    """Whether torch can have a view of its memory."""
    return all(step >= 0 and step % array.itemsize == 0 for step in array.strides)


def _is_small(numpy: Any, sample: Any) -> bool:
    if type(sample) is not numpy.ndarray or not sample.ndim or sample.dtype.char not in _KINDS:
        return False
    return bool(sample.dtype.isnative and 0 < sample.nbytes < _MOST_BYTES)


def _is_plain_worker(torch: Any) -> bool:
    """Whether torch would stack into shared memory, and nobody listens to its functions, as default devices do."""
    listening = torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack()
    return torch.utils.data.get_worker_info() is not None and not listening


def _room(torch: Any, first: Any, count: int) -> Any:
    """For `count` tensors like the first one, as collate_tensor_fn makes it."""
    storage = first._typed_storage()._new_shared(count * first.numel(), device=first.device)
    return first.new(storage).resize_(count, *first.shape)


def _stacked(torch: Any, batch: Any) -> Any:
    """Pictures. None: torch has to do it."""
    first = batch[0]
    if not _is_interleaved(torch, first) or torch.utils.data.get_worker_info() is None:
        return None
    kind, shape = first.dtype, first.shape
    for sample in batch:
        if type(sample) is not torch.Tensor or sample.dtype is not kind or sample.shape != shape:
            return None
        if (
            sample.requires_grad
            or sample.device.type != "cpu"
            or sample.layout is not torch.strided
        ):
            return None
    out = _room(torch, first, len(batch))
    if not _wrote(batch, out):
        torch.stack(batch, 0, out=out)
    return out


def _wrote(batch: Any, out: Any) -> bool:
    try:
        from .. import _images

        return _images.stack_planes([sample.numpy() for sample in batch], out.numpy())
    except Exception:
        return False  # of tensors that NumPy can't show, or without the native part


def _is_interleaved(torch: Any, sample: Any) -> bool:
    if type(sample) is not torch.Tensor or sample.layout is not torch.strided:
        return False
    if sample.dtype not in (torch.uint8, torch.int8, torch.int32, torch.float32):
        return False
    axes = sample.dim()
    if axes < 2 or sample.shape[0] != 3 or sample.nbytes < _LEAST_BYTES:
        return False
    return bool(sample.stride(0) == 1 and sample.stride(axes - 1) == 3)
