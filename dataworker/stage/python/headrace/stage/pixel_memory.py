"""The way of pixels out of PIL and back: in one pass over its memory.

PIL packs pixels into pieces of 64 kB by an encoder and joins them, for tobytes() and so for np.asarray(); it
clears a new image and fills it by a decoder. PIL 11.2 and later say where an image's pixels lie
(__arrow_c_array__). An older one does all of it itself.
"""

import functools
from collections import Counter
from typing import Any

from PIL import Image

from ..process.output import tell

_CHANNELS = {"L": 1, "RGB": 3, "RGBA": 4}
_LEAST_PIXELS = 32 * 32  # with fewer, a call of PIL's is as quick
_CHECKS = 2  # results of each mode that are made both ways
_TOBYTES = Image.Image.tobytes  # PIL's own, whatever takes its place
_FROMBYTES = Image.frombytes


class PixelMemory:
    """One process's. Its counts are not exact with threads."""

    def __init__(self) -> None:
        self._on = _is_exported()
        self._checked: Counter[str] = Counter()

    def packed(self, image: Any) -> bytes | None:
        """image.tobytes(), of a loaded image of PIL's; None: PIL must do it."""
        width, height = image.size
        channels = _CHANNELS.get(image.mode)
        if not self._on or channels is None or width * height < _LEAST_PIXELS:
            return None
        made = self._pack(image.im, width * height, channels)
        if made is None or self._checked[image.mode] >= _CHECKS:
            return made
        self._checked[image.mode] += 1
        theirs = _TOBYTES(image)
        if made != theirs:
            self._end("tobytes")
        return theirs

    def image(self, pixels: Any) -> Image.Image:
        """Image.frombytes() of uint8 [H, W, 3]."""
        height, width, _ = pixels.shape
        if self._on and height * width >= _LEAST_PIXELS and pixels.flags.c_contiguous:
            made = self._fill(pixels, width, height)
            if made is not None:
                return made
        return _FROMBYTES("RGB", (width, height), pixels)

    def _pack(self, core: Any, pixels: int, channels: int) -> bytes | None:
        from .. import _images

        try:
            return _images.pack_pixels(core.__arrow_c_array__(), pixels, channels)
        except Exception:
            return None  # of more than one block of memory, as PIL says

    def _fill(self, pixels: Any, width: int, height: int) -> Image.Image | None:
        from .. import _images

        image = Image.Image()._new(_core().new("RGB", (width, height)))
        try:
            if not _images.fill_pixels(pixels, image.im.__arrow_c_array__()):
                return None
        except Exception:
            return None
        if self._checked["fill"] < _CHECKS:
            self._checked["fill"] += 1
            if _TOBYTES(image) != pixels.tobytes():
                self._end("frombytes")
                return None
        return image

    def _end(self, name: str) -> None:
        self._on = False
        tell(f"headrace: {name} gives other bits natively than PIL does: PIL does it")


def _core() -> Any:
    pil: Any = Image
    return pil.core


def _is_exported() -> bool:
    """Whether an image's pixels lie where this PIL says. It says where its memory begins: with PILLOW_ALIGNMENT
    the first row may begin later."""
    core = _core()
    try:
        from .. import _images  # noqa: F401

        return hasattr(core.new("L", (1, 1)), "__arrow_c_array__") and core.get_alignment() == 1
    except Exception:
        return False


@functools.cache
def here() -> PixelMemory:
    """This process's, or that of the process of which it is a fork."""
    return PixelMemory()
