"""What pickles of batches refer to for their tensors. The trainer calls these functions, also with what a
worker elsewhere says, so they check it (docs/adr/0049-answers.md)."""

import functools
import math
from typing import Any

from .arrays import memory_of, sides_of


def rebuild_tensor(buffer: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """A tensor that is the memory of `buffer`. ValueError, TypeError: it has another size, or is no plain
    memory."""
    import torch

    kind = _kind(dtype)
    if 0 in sides_of(shape):
        return rebuild_empty(dtype, shape, torch.empty(shape, device="meta").stride())
    whole = torch.frombuffer(_writable(buffer), dtype=kind)
    if math.prod(shape) != whole.numel():
        raise ValueError(f"a tensor of shape {shape} in other memory")
    # No view of it: that could not be detached in place, as a stock batch can.
    made: Any = torch.empty(0, dtype=kind)
    return made.set_(whole.untyped_storage(), 0, shape)


def rebuild_empty(dtype: str, shape: tuple[int, ...], stride: tuple[int, ...]) -> Any:
    """A tensor without elements. ValueError: it has some."""
    import torch

    if 0 not in sides_of(shape):
        raise ValueError(f"a tensor of shape {shape} without memory")
    return rebuild_view(torch.UntypedStorage(0), dtype, 0, shape, stride)


def rebuild_storage(buffer: Any) -> Any:
    """A storage that is the memory of `buffer`."""
    import torch

    buffer = _writable(buffer)
    if not len(buffer):
        import numpy

        # Not one of torch's own, which would grow to whatever view of it a pickle asks for.
        return torch.from_numpy(numpy.empty(0, numpy.uint8)).untyped_storage()
    return torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()


def rebuild_typed(storage: Any, dtype: str) -> Any:
    """A TypedStorage over a storage. Of quantized types, too: torch's own functions make tensors of it."""
    import torch

    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or type(storage) is not torch.UntypedStorage:
        raise ValueError(f"{dtype} is no type of a storage's elements")
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=kind, _internal=True)


def rebuild_view(
    storage: Any, dtype: str, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]
) -> Any:
    """A tensor over a part of a storage. ValueError: it does not lie in it."""
    import torch

    kind = _kind(dtype)
    sides_of((offset, *sides_of(shape), *sides_of(stride)))
    if type(storage) is not torch.UntypedStorage:
        raise ValueError(f"{type(storage).__name__} is no storage")
    last = sum((side - 1) * step for side, step in zip(shape, stride, strict=True))
    if 0 not in shape and (offset + last + 1) * kind.itemsize > storage.nbytes():
        raise ValueError(f"a view of shape {shape} beyond its storage")
    return torch.empty(0, dtype=kind).set_(storage, offset, shape, stride)


def rebuild_special(
    kind: str, view: tuple[Any, ...], requires_grad: bool, cls: Any = None, attributes: Any = None
) -> Any:
    """A tensor with more to it than its elements, as torch's own functions make it. `kind`: "tensor",
    "parameter", or "subclass", of the class `cls` with these attributes. `view`: the arguments of
    rebuild_view. ValueError, TypeError: it is none. Nothing is called and no attribute is set by name: a
    setter could give the tensor other memory."""
    import torch

    made = rebuild_view(*view)
    if type(requires_grad) is not bool:
        raise TypeError(f"{requires_grad} does not say whether it requires gradients")
    if kind == "parameter":
        return torch.nn.Parameter(made, requires_grad=requires_grad)
    made.requires_grad = requires_grad
    if kind == "tensor":
        return made
    if kind != "subclass" or not isinstance(cls, type) or not issubclass(cls, torch.Tensor):
        raise ValueError(f"{kind} of {cls} is no kind of tensor")
    made = torch.Tensor.as_subclass(made, cls)
    if attributes is not None:
        if type(attributes) is not dict or not are_attributes(attributes):
            raise ValueError("attributes that are none")
        made.__dict__.update(attributes)
    return made


def are_attributes(names: Any) -> bool:
    """Whether all are names of attributes that Python itself gives no meaning."""
    return all(type(name) is str and not name.startswith("__") for name in names)


def _writable(buffer: Any) -> Any:
    """The memory, or a copy: Python has some of its bytes objects once, and a tensor could change them."""
    memory = memory_of(buffer)
    return memory if not memoryview(memory).readonly else bytearray(memory)


@functools.cache
def _kind(dtype: str) -> Any:
    """ValueError: not the type of a plain tensor."""
    import torch

    kind = getattr(torch, dtype, None)
    if not isinstance(kind, torch.dtype) or dtype.startswith("q"):
        raise ValueError(f"{dtype} is no type of a tensor's elements")
    return kind
