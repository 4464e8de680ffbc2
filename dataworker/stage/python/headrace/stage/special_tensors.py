"""How tensors with more to them than their elements are pickled: as the stock loader's queue does it, by
a function that checks what it is given (made_tensors.rebuild_special)."""

from collections.abc import Callable
from typing import Any

from .made_tensors import are_attributes, rebuild_special

# Of a TypedStorage and (offset, shape, stride): the arguments of rebuild_view.
View = Callable[[Any, Any], Any]


def is_special(tensor: Any) -> bool:
    """Whether it has more to it than its elements."""
    import torch

    return bool(
        type(tensor) is not torch.Tensor
        or tensor.device.type != "cpu"
        or tensor.is_nested
        or tensor.layout != torch.strided
        or tensor.requires_grad
        or tensor.is_quantized
        or tensor.is_conj()
        or tensor.is_neg()
        or tensor.__dict__
    )


def reduced(tensor: Any, view: View) -> Any:
    """Of a tensor of torch's own class or a parameter. What a stock worker's queue does, and forgets."""
    import torch
    from torch.multiprocessing import reductions

    parts: Any = reductions.reduce_tensor(tensor)
    if parts[0] is not reductions.rebuild_tensor or tensor.is_quantized:
        return parts
    _, storage, (*place, requires_grad) = parts[1]
    kind = "parameter" if type(tensor) is torch.nn.Parameter else "tensor"
    return rebuild_special, (kind, view(storage, place), requires_grad)


def reduced_subclass(tensor: Any, view: View) -> Any:
    """As its own __reduce_ex__ says, but without a call of torch's that sets any attribute."""
    import torch

    kind: Any = type(tensor)
    if kind.__reduce_ex__ is not torch.Tensor.__reduce_ex__:
        return NotImplemented
    parts: Any = tensor.__reduce_ex__(5)
    if parts[0] is not torch._tensor._rebuild_from_type_v2 or len(parts) != 2:
        return parts
    make, cls, arguments, state = parts[1]
    if make is not torch._utils._rebuild_tensor_v2 or len(arguments) != 6:
        return parts
    storage, *place, requires_grad, hooks = arguments
    if hooks or tensor.is_quantized or storage._untyped_storage.device.type != "cpu":
        return parts
    if not _has_plain_state(cls, state):
        return parts
    made = "subclass", view(storage, place), requires_grad
    return rebuild_special, (*made, cls, state or None)


def _has_plain_state(cls: Any, state: Any) -> bool:
    """Whether setting these attributes is writing to the __dict__."""
    import torch

    if cls.__setattr__ is not object.__setattr__:
        return False
    if cls.__setstate__ is not torch.Tensor.__setstate__:
        return False
    if state is None:
        return True
    if type(state) is not dict or not are_attributes(state):
        return False
    return not any(hasattr(getattr(cls, name, None), "__set__") for name in state)
