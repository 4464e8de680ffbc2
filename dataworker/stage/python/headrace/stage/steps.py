"""What deferred images note: calls of PIL's methods and functions, as native operators and by PIL."""

import math
import operator
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from PIL import Image

FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by PIL's numbers
FLIPS = ("horizontal", "vertical")  # PIL's FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM
MOVES = frozenset(("crop", "resize", "flip"))  # the steps that limit what is decoded
ENHANCEMENTS = {
    "brightness": "Brightness", "color": "Color", "contrast": "Contrast", "sharpness": "Sharpness",
}  # fmt: skip
# PIL's own, whatever takes their place.
FILTER, RESIZE = Image.Image.filter, Image.Image.resize
# Operators take no larger number in a matrix, and no larger factor.
_MOST = 1e6
_LEAST_RADIUS, _MOST_RADIUS = 1e-6, 1000

Node = tuple[str, dict[str, Any]]


class Step(NamedTuple):
    """One call on an image."""

    op: str
    # crop: (left, top, right, bottom); resize: (size, filter); flip: 0 or 1; affine: (matrix, filter, fill
    # or None); point: a byte for each value of each channel; the enhancements: a factor;
    # gaussian_blur: a radius
    argument: Any

    def native(self) -> Node:
        return _NATIVE.get(self.op, _operation)(self)

    def by_pil(self, image: Image.Image) -> Image.Image:
        return _BY_PIL[self.op](image, self.argument)


def corners_of(box: Any) -> tuple[int, int, int, int] | None:
    """The corners as PIL rounds them; None: PIL would raise or warn."""
    try:
        left, top, right, bottom = (int(round(edge)) for edge in box)
    except (TypeError, ValueError, OverflowError):
        return None
    width, height, most = right - left, bottom - top, Image.MAX_IMAGE_PIXELS
    fits = width > 0 and height > 0 and (most is None or width * height <= most)
    return (left, top, right, bottom) if fits else None


def two_sides(size: Any) -> tuple[int, int] | None:
    try:
        width, height = (operator.index(side) for side in size)
    except (TypeError, ValueError):
        return None
    return (width, height) if width > 0 and height > 0 else None


def affine_step(method: Any, data: Any, resample: Any, fillcolor: Any) -> Step | None:
    """The step of a transform() to the image's own size; None: only PIL knows what it does."""
    if type(method) not in (int, Image.Transform) or method != Image.Transform.AFFINE:
        return None
    if type(resample) not in (int, Image.Resampling) or resample not in (0, 2, 3):
        return None
    if type(data) not in (list, tuple) or len(data) < 6:
        return None
    matrix = tuple(data[:6])
    if not all(type(v) in (int, float) and abs(v) <= _MOST for v in matrix):
        return None
    if fillcolor is not None and not _is_color(fillcolor):
        return None
    return Step("affine", (matrix, int(resample), fillcolor))


def _is_color(value: Any) -> bool:
    if type(value) is not tuple or len(value) != 3:
        return False
    return all(type(v) is int and 0 <= v <= 255 for v in value)


def point_step(lut: Any) -> Step | None:
    """The step of point() with this list; None: only PIL knows what it does."""
    if type(lut) is not list or len(lut) != 768:
        return None
    try:
        return Step("point", bytes(lut))
    except (TypeError, ValueError):  # fractions; values that are no bytes
        return None


def blur_step(by: Any) -> Step | None:
    """The step of filter(by); None: it is no Gaussian blur, or only PIL knows what it does."""
    module = sys.modules.get("PIL.ImageFilter")
    if module is None or type(by) is not module.GaussianBlur or list(vars(by)) != ["radius"]:
        return None
    radius = by.radius
    fits = type(radius) in (int, float) and _LEAST_RADIUS <= radius <= _MOST_RADIUS
    return Step("gaussian_blur", float(radius)) if fits else None


def enhance_step(op: str, factor: Any) -> Step | None:
    fits = type(factor) in (int, float) and math.fabs(factor) <= _MOST
    return Step(op, float(factor)) if fits else None


def _crop(step: Step) -> Node:
    left, top, right, bottom = step.argument
    return "crop", {"top": top, "left": left, "size": [bottom - top, right - left]}


def _resize(step: Step) -> Node:
    (width, height), resample = step.argument
    return "resize", {"size": [height, width], "interpolation": FILTERS[resample]}


def _affine(step: Step) -> Node:
    matrix, resample, fill = step.argument
    args = {"matrix": [float(v) for v in matrix], "interpolation": FILTERS[resample]}
    return "affine", args if fill is None else {**args, "fill": [float(v) for v in fill]}


def _point(step: Step) -> Node:
    table = step.argument
    same = table[:256] == table[256:512] == table[512:]
    return "map_values", {"table": list(table[:256] if same else table)}


def _operation(step: Step) -> Node:
    factor = {} if step.argument is None else {"factor": step.argument}
    return "pil_operation", {"operation": step.op, **factor}


_NATIVE: dict[str, Callable[[Step], Node]] = {
    "crop": _crop,
    "resize": _resize,
    "flip": lambda step: ("flip", {"axis": FLIPS[step.argument]}),
    "affine": _affine,
    "point": _point,
}


def _transformed(image: Image.Image, argument: Any) -> Image.Image:
    matrix, resample, fill = argument
    return image.transform(image.size, Image.Transform.AFFINE, matrix, resample, fillcolor=fill)


def _blurred(image: Image.Image, radius: float) -> Image.Image:
    from PIL import ImageFilter

    return FILTER(image, ImageFilter.GaussianBlur(radius))


def _of_image_ops(name: str) -> Callable[[Image.Image, Any], Image.Image]:
    def by_pil(image: Image.Image, _: None) -> Image.Image:
        from PIL import ImageOps

        made: Image.Image = getattr(ImageOps, name)(image)
        return made

    return by_pil


def _enhanced(name: str) -> Callable[[Image.Image, Any], Image.Image]:
    def by_pil(image: Image.Image, factor: float) -> Image.Image:
        from PIL import ImageEnhance

        made: Image.Image = getattr(ImageEnhance, name)(image).enhance(factor)
        return made

    return by_pil


_BY_PIL: dict[str, Callable[[Image.Image, Any], Image.Image]] = {
    "crop": lambda image, corners: image.crop(corners),
    "resize": lambda image, argument: RESIZE(image, *argument),
    "flip": lambda image, method: image.transpose(method),
    "affine": _transformed,
    "point": lambda image, table: image.point(list(table)),
    "gaussian_blur": _blurred,
    **{name: _of_image_ops(name) for name in ("autocontrast", "equalize")},
    **{op: _enhanced(name) for op, name in ENHANCEMENTS.items()},
}
