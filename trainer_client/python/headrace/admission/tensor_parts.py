"""Tensors that are more than their shape and bytes, in parts that are compared for them."""

from typing import Any

import torch

# torch's queues forget what the program set on these; a batch that crossed none still has it. Nested
# ones keep their parts there, with numbers that the process counts.
_FORGETFUL = (torch.Tensor, torch.nn.Parameter)


def parts_of(tensor: torch.Tensor) -> list[tuple[str, Any]] | None:
    """Names and values: all that tells it from another of its type, dtype, device and layout. None: its
    shape and its bytes are all of it."""
    if tensor.is_nested:
        return [("unbind()", list(tensor.unbind()))]
    form = [("shape", tuple(tensor.shape))]
    if tensor.is_meta:
        return [*form, ("stride()", tensor.stride() if tensor.layout == torch.strided else ())]
    if tensor.is_quantized:
        return form + _of_quantized(tensor)
    if tensor.layout == torch.sparse_coo:
        values = [("indices", tensor._indices()), ("values", tensor._values())]
        return [*form, ("is_coalesced()", tensor.is_coalesced()), *values]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [*form, *_named(tensor, "crow_indices", "col_indices", "values")]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [*form, *_named(tensor, "ccol_indices", "row_indices", "values")]
    return None


def beside_bits(tensor: torch.Tensor) -> list[tuple[str, Any]]:
    """Names and values that tensors of any kind have beside their elements. Not the order in memory:
    torch collates in another one in a worker than elsewhere (clips with channels last)."""
    found: list[tuple[str, Any]] = [("requires_grad", tensor.requires_grad)]
    if not tensor.is_nested and type(tensor) not in _FORGETFUL:
        found += sorted(vars(tensor).items(), key=lambda item: str(item[0]))
    return found


def _of_quantized(tensor: torch.Tensor) -> list[tuple[str, Any]]:
    names = ["int_repr"]
    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        names += ["q_scale", "q_zero_point"]
    else:
        names += ["q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis"]
    return [("qscheme()", tensor.qscheme()), *_named(tensor, *names)]


def _named(tensor: Any, *names: str) -> list[tuple[str, Any]]:
    return [(f"{name}()", getattr(tensor, name)()) for name in names]
