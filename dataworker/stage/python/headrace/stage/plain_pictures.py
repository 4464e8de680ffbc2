"""Native forms for pictures that PIL has made: of what takes so much longer than the pixels' way out of PIL."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

from .deferred import DeferredImage, is_on, maker, showing
from .pictures import MadePicture
from .steps import blur_step

# With fewer pixels, the way to a native operator takes what it saves.
LEAST_PIXELS = 32 * 32


def filtered(image: Any, by: Any) -> Image.Image | None:
    """image.filter(by); None: PIL must do it."""
    if not _is_plain(image) or not maker().takes("gaussian_blur"):
        return None
    step = blur_step(by)
    if step is None:
        return None
    return showing(image, MadePicture(np.asarray(image)).then(step, image.size))


def tensor_of(image: Any, by_hand: Callable[..., Any]) -> Any:
    """What by_hand makes of it, which is F.to_tensor, as an array; None: by_hand must do it."""
    if type(image) is DeferredImage:
        return image.tensor(by_hand)
    if not _is_plain(image):
        return None
    return maker().edited_tensor(np.asarray(image), (), by_hand)


def _is_plain(image: Any) -> bool:
    plain = is_on() and type(image) is Image.Image and image.mode == "RGB"
    return plain and image.width * image.height >= LEAST_PIXELS
