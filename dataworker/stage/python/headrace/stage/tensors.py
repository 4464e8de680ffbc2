"""Tensors of JPEG files whose pixels nobody has wanted yet.

torchvision.io's decoding returns one where pictures are deferred (vision_io.py). It tells its shape and
type. A Compose that has a native chain for it takes the file instead (transforms.py). Whoever else looks
at it gets the pixels: torch asks a tensor of a class of its own before it does anything with it, and it
then becomes a plain tensor, with the memory that the library would have made.

Until then it is a meta tensor, and has no memory. C++ that calls torch's operators gets their results on
the pixels (torch.tensor, a script). Code that wants the memory itself gets torch's error, and code
that makes a tensor where this one is makes a meta tensor. A batch that ends in an exception after
such a tensor was made, or that holds a meta tensor, is made again without deferred ones, by Redo.
"""

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils.dlpack

from . import deferred
from .redo import Redo

_DEPTH = 4  # of lists in arguments
_CPU, _META = torch.device("cpu"), torch.device("meta")
_get: Any = torch.Tensor
# What it tells without pixels.
_OF_FORM = frozenset((
    _get.is_cuda.__get__, _get.shape.__get__, _get.ndim.__get__, _get.dtype.__get__, _get.layout.__get__,
    _get.requires_grad.__get__, _get.size, _get.dim, _get.ndimension, _get.numel, _get.nelement,
    _get.stride, _get.storage_offset, _get.element_size, _get.is_floating_point, _get.is_complex,
    _get.is_contiguous, _get.__len__, torch.numel, torch.is_floating_point, torch.is_complex,
))  # fmt: skip
_OF_PLACE = {_get.device.__get__: _CPU, _get.is_cpu.__get__: True, _get.is_meta.__get__: False}


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
        self.taken = False  # a chain has made something of it
        self._decode, self._library = decode, library
        self._tensor: torch.Tensor | None = None

    def tensor(self) -> torch.Tensor:
        """The same plain tensor at each call, as the library makes it. Raises Redo, or what the library
        raises."""
        if self._tensor is None:
            self._tensor = self._made()
        return self._tensor

    @property
    def seen(self) -> bool:
        """Whether somebody has that tensor, and may have changed it."""
        return self._tensor is not None

    def forget(self) -> None:
        """Called when that tensor is somebody's."""
        self._tensor = None

    def _made(self) -> torch.Tensor:
        pixels = torch.empty((*self.size, 3), dtype=torch.uint8, device="cpu")
        if self._decode(pixels.numpy()):
            return pixels.permute(2, 0, 1)
        try:
            return self._library()
        except Exception:
            if deferred.is_on():
                raise Redo from None
            raise


class DeferredTensor(torch.Tensor):
    _undecoded: Undecoded

    @classmethod
    def __torch_function__(
        cls, func: Any, kinds: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _OF_FORM:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        if func in _OF_PLACE:
            return _OF_PLACE[func]
        tensors = list(_deferred_in((args, kwargs), _DEPTH))
        for tensor in tensors:
            settle(tensor)
        if not tensors:  # deeper inside
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch's is a disabled one
        cls, func: Any, kinds: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """C++ calls an operator. It holds this tensor, which therefore can't become another."""
        named = _with_pixels(kwargs or {})
        if named.get("device") == _META:
            named["device"] = _CPU  # where the caller took it from this tensor
        return func(*_with_pixels(args), **named)


# What people see of it: a plain tensor.
for _name in ("__module__", "__name__", "__qualname__"):
    setattr(DeferredTensor, _name, getattr(torch.Tensor, _name))


def enable() -> None:
    """Once in a process. torch's C function for capsules does not ask, and would pack nothing."""
    for owner, name in (
        (torch, "to_dlpack"),
        (torch.utils.dlpack, "to_dlpack"),
        (torch._C, "_to_dlpack"),
    ):
        real = getattr(owner, name, None)
        if isinstance(real, types.BuiltinFunctionType):
            setattr(owner, name, _settling(real))


def _settling(real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **named: Any) -> Any:
        for value in (*args, *named.values()):
            settle(value)
        return real(*args, **named)

    return call


class _Batch:
    """Whether a deferred tensor was made in this batch."""

    has_any = False


def begin_batch() -> None:
    _Batch.has_any = False


def check_error() -> None:
    """Raises Redo where an exception of the batch may come from a deferred tensor."""
    if _Batch.has_any:
        raise Redo


def check_result(tensor: Any) -> None:
    """Makes a tensor what may leave the process. Raises Redo where it may come from a deferred one whose
    pixels nobody has made."""
    settle(tensor)
    if _Batch.has_any and tensor.is_meta:
        raise Redo


def defer(undecoded: Undecoded) -> Any:
    """uint8 [3, H, W], with channels last in memory."""
    height, width = undecoded.size
    strides = (1, 3 * width, 3)
    tensor: Any = torch.Tensor._make_wrapper_subclass(
        DeferredTensor, (3, height, width), strides, dtype=torch.uint8, device=_META
    )
    tensor._undecoded = undecoded
    _Batch.has_any = True
    return tensor


def settle(tensor: Any) -> Any:
    """The same object, as a plain tensor with its pixels. Others: as they are."""
    if type(tensor) is DeferredTensor:
        plain = tensor._undecoded.tensor()
        if type(tensor) is DeferredTensor:  # another thread may have been here
            tensor._undecoded.forget()
            del tensor._undecoded
            tensor.__class__ = torch.Tensor  # type: ignore[assignment]  # it becomes a plain one
            torch._C._swap_tensor_impl(tensor, plain)
    return tensor


def _with_pixels(value: Any) -> Any:
    if type(value) is DeferredTensor:
        return value._undecoded.tensor()
    if type(value) in (tuple, list):
        return type(value)(map(_with_pixels, value))
    return {k: _with_pixels(v) for k, v in value.items()} if isinstance(value, dict) else value


def _deferred_in(value: Any, depth: int) -> Iterator[Any]:
    if type(value) is DeferredTensor:
        yield value
    elif depth > 0 and isinstance(value, tuple | list):
        for part in value:
            yield from _deferred_in(part, depth - 1)
    elif depth > 0 and isinstance(value, dict):
        for part in value.values():
            yield from _deferred_in(part, depth - 1)
