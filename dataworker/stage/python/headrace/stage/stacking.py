"""default_collate's stack of pictures that are a view of interleaved pixels: from_numpy(x).permute(2, 0, 1).

Most programs make a picture's tensor from an array in this way, and .float() keeps the order of the elements.
torch stacks such tensors element by element. Nothing is computed, so there is nothing to compare.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

from ..native.genuine import is_genuine

_LEAST_BYTES = 1 << 12  # of a sample; smaller ones are torch's


@contextmanager
def stacking() -> Iterator[None]:
    """Inside, default_collate has its stacks from here."""
    import torch
    from torch.utils.data._utils import collate

    functions: Any = collate.default_collate_fn_map
    real = _collate_tensor_fn()
    is_torchs = real is not None and functions.get(torch.Tensor) is real
    if real is None or not is_torchs or not isinstance(torch.stack, BuiltinFunctionType):
        yield  # the program's own
        return

    @functools.wraps(real)
    def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
        made = _stacked(torch, batch)
        return real(batch, collate_fn_map=collate_fn_map) if made is None else made

    functions[torch.Tensor] = collate_tensor_fn
    try:
        yield
    finally:
        if functions.get(torch.Tensor) is collate_tensor_fn:
            functions[torch.Tensor] = real


def _collate_tensor_fn() -> Callable[..., Any] | None:
    """torch's, if it is written there and called so."""
    from torch.utils.data._utils import collate

    function: Any = getattr(collate, "collate_tensor_fn", None)
    return function if is_genuine(function, "torch") else None


def _stacked(torch: Any, batch: Any) -> Any:
    """None: torch has to do it."""
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
    # As collate_tensor_fn makes it.
    storage = first._typed_storage()._new_shared(len(batch) * first.numel(), device=first.device)
    out = first.new(storage).resize_(len(batch), *shape)
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
    if sample.dtype not in (torch.uint8, torch.int8, torch.bool, torch.int32, torch.float32):
        return False
    axes = sample.dim()
    if axes < 2 or sample.shape[0] != 3 or sample.nbytes < _LEAST_BYTES:
        return False
    return bool(sample.stride(0) == 1 and sample.stride(axes - 1) == 3)
