"""Native forms for pictures that PIL has made: of what takes so much longer than the pixels' way out of PIL."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from .deferred import DeferredImage, showing
from .picture_files import is_on, maker
from .pictures import MadePicture
from .steps import FILTERS, Step, blur_step, two_sides

# With fewer pixels, the way to a native operator takes what it saves.
LEAST_PIXELS = 32 * 32
LEAST_PIXELS_OF_ARRAYS = 96 * 96  # of which torch makes a tensor in two passes
# Resizes that are at least 1.3 times as quick as PIL's: the filter by PIL's number, and the pixels that the larger
# of the two pictures has at least (bench/e2e/plain_pixels.py). A box, and the nearest pixels, are as quick in PIL.
_LEAST_RESIZED = {
    FILTERS.index("lanczos"): 1 << 15,
    FILTERS.index("bicubic"): 1 << 15,
    FILTERS.index("bilinear"): 1 << 17,
    FILTERS.index("hamming"): 1 << 17,
}


def filtered(image: Any, by: Any) -> Image.Image | None:
    """image.filter(by); None: PIL must do it."""
    if not _is_plain(image) or not maker().takes("gaussian_blur"):
        return None
    step = blur_step(by)
    if step is None:
        return None
    return showing(image, MadePicture(np.asarray(image)).then(step, image.size))


def resized(image: Any, size: Any, resample: Any) -> Image.Image | None:
    """image.resize(size, resample); None: PIL must do it."""
    if not _is_plain(image) or not maker().takes("resize"):
        return None
    wanted = two_sides(size)
    kind = Image.Resampling.BICUBIC if resample is None else resample
    if wanted is None or not isinstance(kind, int):
        return None
    (width, height), least = wanted, _LEAST_RESIZED.get(kind)
    if least is None or max(width * height, image.width * image.height) < least:
        return None
    if width == image.width or height == image.height:
        return None  # half the work
    step = Step("resize", (wanted, int(kind)))
    return showing(image, MadePicture(np.asarray(image)).then(step, wanted))


def tensor_of(image: Any, by_hand: Callable[..., Any]) -> Any:
    """What by_hand makes of it, which is F.to_tensor, as an array; None: by_hand must do it."""
    if type(image) is DeferredImage:
        return image.tensor(by_hand)
    if not _is_plain(image) and not is_plain_array(image):
        return None
    return maker().edited_tensor(np.ascontiguousarray(image), (), by_hand)


def _is_plain(image: Any) -> bool:
    plain = is_on() and type(image) is Image.Image and image.mode == "RGB"
    return plain and image.width * image.height >= LEAST_PIXELS


def is_plain_array(image: Any) -> bool:
    """uint8 [H, W, 3], whole or a crop. Of memory that may not be written torch warns."""
    if type(image) is not np.ndarray or image.dtype != np.uint8 or image.ndim != 3:
        return False
    height, width, channels = image.shape
    if channels != 3 or height * width < LEAST_PIXELS_OF_ARRAYS or not is_on():
        return False
    steps = image.strides
    return steps[1:] == (3, 1) and steps[0] >= 3 * width and image.flags.writeable


def is_pils(image: Any) -> bool:
    """An image, and not of a class of the program's own, whose methods may do anything."""
    return isinstance(image, Image.Image) and type(image).__module__.startswith("PIL.")
