"""torchvision's RandomIoUCrop: which crop it draws, with NumPy's arithmetic of a few boxes in place of torch's.

Each try makes some thirty small tensors, and a picture takes up to hundreds of tries. The draws stay torch's, one call
after another. What is computed from them are single operations of float32 or whole numbers, which every library rounds
alike. The first crops are drawn both ways and compared, with the generator's state after them.

Why so: docs/adr/0111-rows-of-tables-and-normal-numbers.md.
"""

import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import torch
import torchvision

from ..native.genuine import is_genuine
from . import tensors
from .render import ImageMaker

_WHAT = ("iou_crop",)
_MOST_SIDE = 1 << 20  # float32 holds such sides, and their products with what is drawn lie near
_FORMATS = ("XYXY", "XYWH", "CXCYWH")
_NUMBERS = (int, float)


class _Boxes:
    """Of one sample, as corners."""

    def __init__(self, corners: torch.Tensor) -> None:
        self._corners = corners  # its memory is looked at
        array = tensors.array_of(corners)
        # As RandomIoUCrop says it: the result is torch's.
        self._cx, self._cy = (0.5 * (corners[..., at] + corners[..., at + 2]) for at in (0, 1))
        self._x, self._y = tensors.array_of(self._cx), tensors.array_of(self._cy)
        self._low, self._high = array[:, :2], array[:, 2:]
        self._area = (array[:, 2] - array[:, 0]) * (array[:, 3] - array[:, 1])
        self._kind = array.dtype

    def within(self, left: int, top: int, right: int, bottom: int) -> Any:
        """bool [boxes]: whose centres lie in the crop."""
        x, y = self._x, self._y
        return (left < x) & (x < right) & (top < y) & (y < bottom)

    def within_as_tensor(self, left: int, top: int, right: int, bottom: int) -> torch.Tensor:
        x, y = self._cx, self._cy
        return (left < x) & (x < right) & (top < y) & (y < bottom)

    def best_overlap(self, crop: tuple[int, int, int, int], among: Any) -> Any:
        """float32: the largest intersection over union of the boxes `among` them."""
        left, top, right, bottom = np.array(crop, self._kind)
        low = np.maximum(self._low[among], (left, top))
        high = np.minimum(self._high[among], (right, bottom))
        sides = np.maximum(high - low, 0)
        shared = sides[:, 0] * sides[:, 1]
        both = self._area[among] + (right - left) * (bottom - top) - shared
        return (shared.astype(np.float32) / both.astype(np.float32)).max()


def _drawn(crop: Any, size: tuple[int, int], boxes: _Boxes) -> dict[str, Any]:
    """RandomIoUCrop.make_params, line by line. Raises what it raises, with the same drawn."""
    height, width = size
    sides = np.array([width, height], np.float32)
    span, least = np.float32(crop.max_scale - crop.min_scale), np.float32(crop.min_scale)
    while True:
        option = int(torch.randint(low=0, high=len(crop.options), size=(1,)))
        overlap = crop.options[option]
        if overlap >= 1.0:
            return {}
        for _ in range(crop.trials):
            new_width, new_height = _whole(sides * (least + span * torch.rand(2).numpy()))
            if not crop.min_aspect_ratio <= new_width / new_height <= crop.max_aspect_ratio:
                continue
            free = np.array([width - new_width, height - new_height], np.float32)
            left, top = _whole(free * torch.rand(2).numpy())
            right, bottom = left + new_width, top + new_height
            if left == right or top == bottom:
                continue
            within = boxes.within(left, top, right, bottom)
            if not within.any():
                continue
            if boxes.best_overlap((left, top, right, bottom), within) < np.float32(overlap):
                continue
            return {
                "top": top,
                "left": left,
                "height": new_height,
                "width": new_width,
                "is_within_crop_area": boxes.within_as_tensor(left, top, right, bottom),
            }


def _whole(numbers: Any) -> tuple[int, int]:
    first, second = numbers.tolist()
    return int(first), int(second)


def _corners(boxes: Any, functional: Any, kinds: Any) -> torch.Tensor | None:
    if type(boxes) is not kinds.BoundingBoxes or boxes.dtype not in (torch.float32, torch.int64):
        return None
    if boxes.dim() != 2 or boxes.shape[1] != 4 or boxes.format.name not in _FORMATS:
        return None
    if boxes.device.type != "cpu" or boxes.layout is not torch.strided or boxes.requires_grad:
        return None
    corners = kinds.BoundingBoxFormat.XYXY
    made: torch.Tensor = functional.convert_bounding_box_format(
        boxes.as_subclass(torch.Tensor), boxes.format, corners
    )
    return made


def _made(module: Any, crop: Any, flat: Any) -> dict[str, Any] | None:
    """None, with nothing drawn: torchvision has to do it."""
    if torch.get_default_dtype() is not torch.float32 or type(crop.options) is not list:
        return None
    said = crop.min_scale, crop.max_scale, crop.min_aspect_ratio, crop.max_aspect_ratio
    if not all(type(number) in _NUMBERS for number in (*said, *crop.options)):
        return None
    size = module.query_size(flat)
    corners = _corners(module.get_bounding_boxes(flat), module.F, module.tv_tensors)
    if corners is None or not all(type(side) is int and 0 < side <= _MOST_SIDE for side in size):
        return None
    state = torch.get_rng_state()
    try:
        with np.errstate(all="ignore"):  # as torch
            return _drawn(crop, size, _Boxes(corners))
    except Exception:
        torch.set_rng_state(state)  # torchvision meets it too, in its own way
        return None


def _same(mine: Any, theirs: Any) -> bool:
    if mine.keys() != theirs.keys():
        return False
    for name, value in mine.items():
        other = theirs[name]
        if type(value) is not type(other):
            return False
        if isinstance(value, torch.Tensor):
            if value.dtype is not other.dtype or not torch.equal(value, other):
                return False
        elif value != other:
            return False
    return True


def _entered(real: Callable[..., Any], module: Any, maker: ImageMaker) -> Callable[..., Any]:
    """Stands for RandomIoUCrop's method."""

    @functools.wraps(real)
    def make_params(self: Any, *args: Any, **named: Any) -> Any:
        if named or len(args) != 1 or not maker.takes(_WHAT[0]):
            return real(self, *args, **named)
        checked = maker.is_checked(_WHAT)
        before = None if checked else torch.get_rng_state()
        try:
            made = _made(module, self, args[0])
        except Exception:
            made = None  # nothing was drawn
        if made is None:
            return real(self, *args)
        if before is None:
            return made
        after = torch.get_rng_state()
        torch.set_rng_state(before)
        theirs = real(self, *args)
        same = _same(made, theirs) and torch.equal(after, torch.get_rng_state())
        maker.check(_WHAT, same, f"torchvision {torchvision.__version__}")
        return theirs

    return make_params


def enable(maker: ImageMaker) -> None:
    """Once in a process, before anything looks at whether torchvision's functions stay as they are."""
    module = sys.modules.get("torchvision.transforms.v2._geometry")
    crop = getattr(module, "RandomIoUCrop", None)
    real = vars(crop).get("make_params") if isinstance(crop, type) else None
    if isinstance(real, FunctionType) and is_genuine(real, "torchvision"):
        crop.make_params = _entered(real, module, maker)  # type: ignore[union-attr]
