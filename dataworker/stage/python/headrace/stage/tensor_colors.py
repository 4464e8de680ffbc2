"""torchvision's adjust_hue of tensors of uint8, natively, whatever transform or code calls it.

Of the colours of a tensor it alone is many times as quick: torch makes some forty tensors of floats for it. Kernels
of this kind have one form for all tensors, so they are replaced where torchvision itself looks them up: v1 by a name
of a module, v2 by the type of what it is given. The first results of each kind are made both ways and compared.

Why so: docs/adr/0107-rows-and-tensors.md.
"""

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
import torchvision

from ..native.genuine import is_genuine
from . import tensors
from .render import ImageMaker

_LEAST_PIXELS = 32 * 32
_OP = "turn_hue"


def _hue(image: Any, factor: Any, api: int) -> torch.Tensor | None:
    """None: torchvision has to do it."""
    if type(image) is not torch.Tensor or image.dtype is not torch.uint8 or image.dim() != 3:
        return None
    channels, height, width = image.shape
    if channels != 3 or min(height, width) < 2 or height * width < _LEAST_PIXELS:
        return None
    if image.device.type != "cpu" or image.layout is not torch.strided:
        return None
    if type(factor) is not float:
        return None
    from .. import _images

    # As torch leaves the last of its tensors in memory.
    strides = (1, 3 * width, 3) if api == 1 else (height * width, width, 1)
    made = torch.empty_strided(tuple(image.shape), strides, dtype=torch.uint8, device="cpu")
    done = _images.turn_hue(tensors.array_of(image), factor, api, tensors.array_of(made))
    return made if done else None


def _same(mine: torch.Tensor, theirs: Any) -> bool:
    if type(theirs) is not torch.Tensor or theirs.dtype is not mine.dtype:
        return False
    alike = theirs.shape == mine.shape and theirs.stride() == mine.stride()
    return alike and theirs._base is None and torch.equal(mine, theirs)


def _entered(real: Callable[..., Any], maker: ImageMaker, api: int) -> Callable[..., Any]:
    """Stands for torchvision's function. torch.jit compiles that one."""
    what = _OP, f"v{api}"

    @functools.wraps(real)
    def adjust_hue(*args: Any, **named: Any) -> Any:
        given = (*args, *named.values())
        plain = len(given) == 2 and (not named or (len(args) == 1 and "hue_factor" in named))
        if not plain or not maker.takes(_OP):
            return real(*args, **named)
        try:
            made = _hue(given[0], given[1], api)
        except Exception:
            made = None  # torchvision meets it too, in its own way
        if made is None:
            return real(*args, **named)
        if not maker.is_checked(what):
            theirs = real(*args, **named)
            maker.check(what, _same(made, theirs), f"torchvision {torchvision.__version__}")
            return theirs
        return made

    adjust_hue.__prepare_scriptable__ = lambda: real  # type: ignore[attr-defined]
    return adjust_hue


def enable(maker: ImageMaker) -> None:
    """Once in a process, before anything looks at whether torchvision's functions stay as they are."""
    v1 = sys.modules.get("torchvision.transforms._functional_tensor")
    if v1 is not None and _is_own(getattr(v1, "adjust_hue", None)):
        v1.adjust_hue = _entered(v1.adjust_hue, maker, 1)  # type: ignore[attr-defined]
    functional = sys.modules.get("torchvision.transforms.v2.functional")
    table = sys.modules.get("torchvision.transforms.v2.functional._utils")
    if functional is None or table is None:
        return
    try:
        kernels = table._KERNEL_REGISTRY[functional.adjust_hue]
        _enable_v2(kernels, table._kernel_tv_tensor_wrapper, maker)
    except (AttributeError, KeyError):
        return  # of another release, whose own kernels stay


def _enable_v2(kernels: dict[type, Any], wrapped: Callable[..., Any], maker: ImageMaker) -> None:
    from torchvision import tv_tensors

    real, of_images = kernels[torch.Tensor], kernels[tv_tensors.Image]
    if not _is_own(real) or not _is_own(of_images) or of_images.__wrapped__ is not real:
        return
    kernels[torch.Tensor] = _entered(real, maker, 2)
    kernels[tv_tensors.Image] = wrapped(kernels[torch.Tensor])


def _is_own(function: Any) -> bool:
    return isinstance(function, FunctionType) and is_genuine(function, "torchvision")
