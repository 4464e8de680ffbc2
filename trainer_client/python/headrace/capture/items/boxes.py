"""What a transform of v2's does to targets: torchvision's own transform of them, with what was drawn for
the picture of the same call.

    image, target = self.transforms(image, {"boxes": boxes, "labels": labels})

Which of the inputs a transform takes, torchvision decides by their classes. Plain tensors are handed on
where there is a picture.
"""

import copy
import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ...native import joint as sorts
from ...native.collate import name_of
from ...native.gates import GATES
from ...native.genuine import is_genuine
from ...native.kinds import check_unaltered, kind_of
from ...native.nodes import leaves_of
from ...native.plan import NotNative
from ...native.targets import Drawn, Unknown
from ..views import joint
from ..views.values import Held, Image, Stop
from .beside import Beside

# What they do to boxes, their own `transform` does; they draw nothing.
_FIXED = frozenset(
    f"v2.{cls}"
    for cls in (
        "CenterCrop", "ClampBoundingBoxes", "ConvertBoundingBoxFormat", "ConvertImageDtype", "Grayscale", "Identity",
        "Normalize", "PILToTensor", "Pad", "Resize", "ToDtype", "ToImage", "ToPureTensor",
    )
)  # fmt: skip
# Their functions have no kernel for boxes, which they hand on.
_OF_COLOURS = frozenset(
    f"v2.{cls}"
    for cls in (
        "ColorJitter", "GaussianBlur", "RandomAdjustSharpness", "RandomAutocontrast", "RandomEqualize",
        "RandomGrayscale", "RandomInvert", "RandomPosterize", "RandomSolarize",
    )
)  # fmt: skip
_SANITIZE = "v2.SanitizeBoundingBoxes"
OF_TARGETS = ("v2.ClampBoundingBoxes", "v2.ConvertBoundingBoxFormat", _SANITIZE)


def applied(
    f: Any, transform: Any, leaves: list[Any], rebuild: Callable[[Any], Any], at: str
) -> list[Any]:
    """The leaves after the transform. Raises Stop and NotNative."""
    kind = kind_of(transform) or ""
    check_unaltered(transform)
    images = [leaf for leaf in leaves if type(leaf) is Image]
    kinds = [joint.sort_of(f, image).kind for image in images]
    if not any(one in (sorts.PIL, sorts.IMAGE) for one in kinds):
        raise Stop(
            f"applies {name_of(transform)} to targets without a picture",
            "the picture, as PIL's or as tv_tensors.Image, in the same call",
        )
    if kind == _SANITIZE:
        return _sanitized(f, transform, leaves, rebuild)
    boxes = [leaf for leaf in leaves if type(leaf) is Beside and leaf.boxes]
    if boxes and kind not in _FIXED and kind not in _DRAWN:
        _check_hands_on(transform, kind)
    f.seen.hold(transform)
    if kind == "v2.ToImage":  # which takes arrays, too
        for leaf in leaves:
            if type(leaf) is Beside and not leaf.boxes:
                f.beside.step(_check_no_arrays, [leaf])
    made: dict[int, Any] = {}
    call = 0
    if kind in OF_TARGETS:
        new = images
    else:
        new, call = joint.together(f, transform, images, [joint.sort_of(f, i) for i in images], at)
    for place, leaf in enumerate(leaves):
        if type(leaf) is Image:
            made[place] = new[len([one for one in leaves[:place] if type(one) is Image])]
        elif type(leaf) is Beside and leaf.boxes:
            made[place] = _of_boxes(f, transform, kind, leaf, call)
    return [made.get(place, leaf) for place, leaf in enumerate(leaves)]


def _check_hands_on(transform: Any, kind: str) -> None:
    parts = leaves_of(transform)
    if kind in GATES:
        parts = [leaf for part in transform.transforms for leaf in leaves_of(part)]
    for part in parts:
        if kind_of(part) in GATES:
            _check_hands_on(part, kind_of(part) or "")
        elif kind_of(part) == "v2.RandomIoUCrop":
            raise NotNative(
                f"{name_of(part)} draws by the boxes, and crops the picture by what it draws",
                "nothing yet: its own code must run",
            )
        elif (kind_of(part) or "") not in _OF_COLOURS:
            raise NotNative(
                f"{name_of(part)} is given bounding boxes, for which it has no native form"
                + (" where it is not always applied" if kind in GATES else "")
            )


def _of_boxes(f: Any, transform: Any, kind: str, boxes: Beside, call: int) -> Beside:
    kept = copy.deepcopy(transform)
    if kind in _FIXED:
        if not _takes_boxes(transform):
            return boxes
        pure = kind == "v2.ToPureTensor"
        made: Beside = f.beside.step(_transformed, [kept, boxes], boxes=not pure)
        made.fits, made.shares = boxes.fits, boxes.shares
        return made
    if kind in _DRAWN:
        count, function, asks_for_size = _DRAWN[kind]
        if asks_for_size and not boxes.fits:
            raise Stop(
                f"applies {name_of(transform)} to boxes whose canvas_size is not known to be the picture's",
                "canvas_size=F.get_size(image)",
            )
        words = [Drawn(call, word) for word in range(count)]
        made = f.beside.step(function, [kept, boxes, *words], boxes=True)
        made.fits, made.shares = boxes.fits, boxes.shares
        return made
    return boxes


def _sanitized(
    f: Any, transform: Any, leaves: list[Any], rebuild: Callable[[Any], Any]
) -> list[Any]:
    """The whole of its inputs, with something else in the place of pictures."""
    getter = vars(transform).get("_labels_getter")
    if transform.labels_getter not in ("default", None) or not is_genuine(getter, "torchvision"):
        raise Stop(
            f"applies {name_of(transform)} with a labels_getter of the program's own",
            'labels_getter="default", or None',
        )
    if not any(type(leaf) is Beside and leaf.boxes for leaf in leaves):
        raise Stop(f"applies {name_of(transform)} to what has no bounding boxes")
    f.seen.hold(transform)
    given = [Held(_Picture.HERE) if type(leaf) is Image else leaf for leaf in leaves]
    inputs = f.beside.filled(f, rebuild(given))
    places = rebuild(list(range(len(leaves))))
    several = f.beside.step(_all_transformed, [copy.deepcopy(transform), inputs, places])
    made = list(leaves)
    for place, leaf in enumerate(leaves):
        if type(leaf) is Beside:
            made[place] = f.beside.step(operator.getitem, [several, place], boxes=leaf.boxes)
            made[place].fits, made[place].shares = leaf.fits, leaf.shares and not leaf.boxes
    return made


class _Picture(enum.Enum):
    """Stands where a picture is."""

    HERE = 0


def _takes_boxes(transform: Any) -> bool:
    """As Transform._needs_transform_list says it. Of classes of torchvision's alone."""
    from torchvision.transforms.v2._utils import check_type
    from torchvision.tv_tensors import BoundingBoxes

    example = BoundingBoxes(torch.zeros((0, 4)), format="XYXY", canvas_size=(1, 1))
    return bool(check_type(example, transform._transformed_types))


def _transformed(transform: Any, boxes: Any) -> Any:
    return transform.transform(boxes, {})


def _check_no_arrays(value: Any) -> None:
    """Raises Unknown where torchvision would find one among its inputs."""
    if type(value) in (list, tuple, dict):
        for part in value.values() if type(value) is dict else value:
            _check_no_arrays(part)
    elif isinstance(value, np.ndarray):
        raise Unknown("ToImage is given an array beside the picture")


def _flipped(transform: Any, boxes: Any, drawn: int) -> Any:
    return transform.transform(boxes, {}) if drawn else boxes


def _resized(transform: Any, boxes: Any, length: int) -> Any:
    return transform.transform(boxes, {"size": [length]})


def _sized(transform: Any, boxes: Any, height: int, width: int) -> Any:
    return transform.transform(boxes, {"size": (height, width)})


def _padded(transform: Any, boxes: Any, *words: int) -> Any:
    """Borders of 0 change boxes, too: they are clamped."""
    *borders, is_drawn = words
    return transform.transform(boxes, {"padding": borders}) if is_drawn else boxes


# How many words they draw, what they do with these, and whether they ask all of their inputs for one
# size.
_DRAWN: dict[str, tuple[int, Callable[..., Any], bool]] = {
    "v2.RandomHorizontalFlip": (1, _flipped, False),
    "v2.RandomVerticalFlip": (1, _flipped, False),
    "v2.RandomResize": (1, _resized, False),
    "v2.RandomShortestSize": (2, _sized, True),
    "v2.ScaleJitter": (2, _sized, True),
    "v2.RandomZoomOut": (5, _padded, True),
}


def _all_transformed(transform: Any, inputs: Any, places: Any) -> dict[int, Any]:
    """What it makes of all its inputs, by the numbers in `places`, which is nested as they are."""
    found: dict[int, Any] = {}
    _find(places, transform(inputs), found)
    return found


def _find(places: Any, made: Any, found: dict[int, Any]) -> None:
    if type(places) is int:
        found[places] = made
    elif type(places) is dict:
        for key, part in places.items():
            _find(part, made[key], found)
    else:
        for part, one in zip(places, made, strict=True):
            _find(part, one, found)
