"""What pickles of batches refer to for their tensors. The trainer calls these functions, also with what a
worker elsewhere says, so they check it (docs/adr/0049-answers.md)."""

import functools
import math
from typing import Any


def rebuild_tensor(buffer: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """A tensor that is the memory of `buffer`. ValueError: it has another size."""
    import torch

    kind = _kind(dtype)
    if 0 in shape:
        return rebuild_empty(dtype, shape, torch.empty(shape, device="meta").stride())
    whole = torch.frombuffer(buffer, dtype=kind)
    if math.prod(shape) != whole.numel() or min(shape, default=0) < 0:
        raise ValueError(f"a tensor of shape {shape} in other memory")
    # No view of it: that could not be detached in place, as a stock batch can.
    made: Any = torch.empty(0, dtype=kind)
    return made.set_(whole.untyped_storage(), 0, shape)


def rebuild_empty(dtype: str, shape: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    """A tensor without elements. ValueError: it has some."""
    import torch

    if 0 not in shape:
        raise ValueError(f"a tensor of shape {shape} without memory")
    return rebuild_view(torch.UntypedStorage(0), dtype, 0, shape, stride)


def rebuild_storage(buffer: Any) -> Any:
    """A storage that is the memory of `buffer`."""
    import torch

    if not len(memoryview(buffer)):
        import numpy

        # Not one of torch's own, which would grow to whatever view of it a pickle asks for.
        return torch.from_numpy(numpy.empty(0, numpy.uint8)).untyped_storage()
    return torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()


def rebuild_typed(storage: Any, dtype: str) -> Any:
    """A TypedStorage over a storage. Of quantized types, too: torch's own functions make tensors of it."""
    import torch

    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype):
        raise ValueError(f"{dtype} is no type of a storage's elements")
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=kind, _internal=True)


def rebuild_view(
    storage: Any, dtype: str, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]
) -> Any:
    """A tensor over a part of a storage. ValueError: it does not lie in it."""
    import torch

    kind = _kind(dtype)
    if min(offset, *shape, *stride, 0) < 0:
        raise ValueError(f"a view of shape {shape} before its storage")
    last = sum((side - 1) * step for side, step in zip(shape, stride, strict=True))
    if 0 not in shape and (offset + last + 1) * kind.itemsize > storage.nbytes():
        raise ValueError(f"a view of shape {shape} beyond its storage")
    return torch.empty(0, dtype=kind).set_(storage, offset, shape, stride)


@functools.cache
def _kind(dtype: str) -> Any:
    """ValueError: not the type of a plain tensor."""
    import torch

    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or dtype.startswith("q"):
        raise ValueError(f"{dtype} is no type of a tensor's elements")
    return kind
