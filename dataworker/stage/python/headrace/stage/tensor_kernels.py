"""Functions of torchvision's on tensors, with a native form, in their places.

Kernels of this kind have one form for all tensors, so they are replaced where torchvision itself looks them up: v1 by
a name of a module, v2 by the type of what it is given. The first results of each are made both ways and compared.

Why so: docs/adr/0107-rows-and-tensors.md.
"""

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import torch
import torchvision

from ..native.genuine import is_genuine
from . import tensors
from .render import ImageMaker


class Kernel(NamedTuple):
    name: str  # of torchvision's function
    op: str
    parameters: tuple[str, ...]  # all but the tensor
    optional: dict[str, Any]  # the values of those that need not be given
    # Called with the tensor, these values, and 1 or 2: for torchvision.transforms or v2. None: torchvision has to do it.
    native: Callable[..., torch.Tensor | None]

    def values(self, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any] | None:
        """Of its parameters. None: that is another call."""
        if len(given) > len(self.parameters) or named.keys() - self.parameters[len(given) :]:
            return None
        rest = self.parameters[len(given) :]
        if any(name not in named and name not in self.optional for name in rest):
            return None
        return [*given, *(named[name] if name in named else self.optional[name] for name in rest)]


def _same(mine: torch.Tensor, theirs: Any) -> bool:
    if type(theirs) is not torch.Tensor or theirs.dtype is not mine.dtype:
        return False
    alike = theirs.shape == mine.shape and theirs.stride() == mine.stride()
    if not alike or theirs._base is not None:
        return False
    return bool(tensors.array_of(mine).tobytes() == tensors.array_of(theirs).tobytes())


def _entered(real: Callable[..., Any], kernel: Kernel, maker: ImageMaker, api: int) -> Any:
    """Stands for torchvision's function. torch.jit compiles that one."""

    @functools.wraps(real)
    def function(*args: Any, **named: Any) -> Any:
        values = kernel.values(args[1:], named) if args and maker.takes(kernel.op) else None
        if values is None:
            return real(*args, **named)
        try:
            made = kernel.native(args[0], *values, api)
        except Exception:
            made = None  # torchvision meets it too, in its own way
        if made is None:
            return real(*args, **named)
        order = "planes" if made.is_contiguous() else "other order"
        what = kernel.op, f"v{api}", str(made.dim()), order
        if not maker.is_checked(what):
            theirs = real(*args, **named)
            maker.check(what, _same(made, theirs), f"torchvision {torchvision.__version__}")
            return theirs
        return made

    function.__prepare_scriptable__ = lambda: real  # type: ignore[attr-defined]
    return function


def enable(kernel: Kernel, maker: ImageMaker) -> None:
    """Once in a process, before anything looks at whether torchvision's functions stay as they are."""
    v1 = sys.modules.get("torchvision.transforms._functional_tensor")
    real: Any = getattr(v1, kernel.name, None)
    if _is_own(real):
        setattr(v1, kernel.name, _entered(real, kernel, maker, 1))
    functional = sys.modules.get("torchvision.transforms.v2.functional")
    table = sys.modules.get("torchvision.transforms.v2.functional._utils")
    if functional is None or table is None:
        return
    try:
        kernels = table._KERNEL_REGISTRY[getattr(functional, kernel.name)]
        _enable_v2(kernels, table._kernel_tv_tensor_wrapper, kernel, maker)
    except (AttributeError, KeyError):
        return  # of another release, whose own kernels stay


def _enable_v2(
    kernels: dict[type, Any], wrapped: Callable[..., Any], kernel: Kernel, maker: ImageMaker
) -> None:
    from torchvision import tv_tensors

    real, of_images = kernels[torch.Tensor], kernels[tv_tensors.Image]
    if not _is_own(real) or not _is_own(of_images) or of_images.__wrapped__ is not real:
        return
    kernels[torch.Tensor] = _entered(real, kernel, maker, 2)
    kernels[tv_tensors.Image] = wrapped(kernels[torch.Tensor])


def _is_own(function: Any) -> bool:
    return isinstance(function, FunctionType) and is_genuine(function, "torchvision")
