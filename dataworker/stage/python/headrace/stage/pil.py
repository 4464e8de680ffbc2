"""Where names of PIL's, and one of torchvision's, lead to deferred images (deferred.py)."""

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from PIL import ExifTags, Image, ImageOps, JpegImagePlugin

from . import pixel_memory
from .deferred import LOAD, DeferredImage, PixelAccess, as_loaded, defer
from .picture_files import is_on, source_of
from .plain_pictures import filtered, is_pils, resized, tensor_of
from .render import PLAIN
from .steps import ENHANCEMENTS, FILTER


def _of_opened(name: str) -> Callable[..., Any]:
    real = PLAIN[name]

    @functools.wraps(real)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        if name == "convert":
            fits = (args, named) in ((("RGB",), {}), ((), {"mode": "RGB"}))
        else:
            fits = self.mode == "RGB"
        if fits and name == "resize" and _is_thumbnail(sys._getframe(1)):
            # It puts the result into this image, and counts on resize() having loaded it.
            self.load()
        deferred = defer(self) if fits else None
        if deferred is None:
            return real(self, *args, **named)
        return getattr(deferred, name)(*args, **named)

    return method


def _is_thumbnail(caller: FrameType) -> bool:
    return caller.f_code.co_name == "thumbnail" and caller.f_globals is vars(Image)


def _wrap_load() -> None:
    """Code calls it to have the file closed, and then wants a part of the picture."""

    @functools.wraps(LOAD)
    def load(self: Any) -> Any:
        # PIL itself calls it for the pixels.
        by_pil = sys._getframe(1).f_globals.get("__name__", "").startswith("PIL.")
        source = None if by_pil else source_of(self)
        if source is None:
            return LOAD(self)
        as_loaded(self, source)
        return PixelAccess(self)

    opened: Any = JpegImagePlugin.JpegImageFile
    opened.load = load


def _wrap_exif_transpose() -> None:
    """It decodes every image, also the many that it then only copies."""
    real = ImageOps.exif_transpose

    @functools.wraps(real)
    def exif_transpose(image: Any, *args: Any, **named: Any) -> Any:
        opened = isinstance(image, JpegImagePlugin.JpegImageFile) and image.mode == "RGB"
        if (opened or type(image) is DeferredImage) and not args and not named:
            upright = image.getexif().get(ExifTags.Base.Orientation, 1) not in range(2, 9)
            if upright:
                return image.copy()
        return real(image, *args, **named)

    ImageOps.exif_transpose = exif_transpose


def _wrap_image_ops() -> None:
    """Those that look at a histogram; the others are point()."""
    for name in ("autocontrast", "equalize"):
        setattr(ImageOps, name, _of_whole(name, getattr(ImageOps, name)))


def _of_whole(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def operation(image: Any, *args: Any, **named: Any) -> Any:
        plain = type(image) is DeferredImage and not args and not named
        made = image.edited(name) if plain else None
        return real(image, *args, **named) if made is None else made

    return operation


def _wrap_enhancements(module: Any) -> None:
    """An enhancement is a blend with an image that its constructor makes. Both are deferred."""
    for op, name in ENHANCEMENTS.items():
        cls = getattr(module, name)
        cls.__init__ = _of_enhancement(op, cls.__init__)
    real = Image.blend

    @functools.wraps(real)
    def blend(im1: Any, im2: Any, alpha: Any) -> Any:
        both = type(im1) is DeferredImage and type(im2) is DeferredImage
        made = im1.blended(im2, alpha) if both else None
        return real(im1, im2, alpha) if made is None else made

    Image.blend = blend


def _of_enhancement(op: str, real: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(real)
    def init(self: Any, image: Any) -> None:
        degenerate = image.degenerate(op) if type(image) is DeferredImage else None
        if degenerate is None:
            return real(self, image)
        self.image, self.degenerate = image, degenerate
        if op == "color":
            self.intermediate_mode = "L"

    return init


def _wrap_to_tensor(functional: Any) -> None:
    import torch

    from .tensors import owned

    real = functional.to_tensor

    @functools.wraps(real)
    def to_tensor(pic: Any) -> Any:
        if torch.get_default_dtype() is torch.float32:
            array = tensor_of(pic, real)
            if array is not None:
                return owned(array)
        return real(pic)

    functional.to_tensor = to_tensor


def _wrap_filter() -> None:
    """Of pictures that PIL has made, too: a blur takes so much longer than the pixels' way out of PIL."""

    @functools.wraps(FILTER)
    def filter(self: Any, filter: Any) -> Any:
        made = filtered(self, filter)
        return FILTER(self, filter) if made is None else made

    Image.Image.filter = filter  # type: ignore[method-assign]


def _wrap_resize() -> None:
    """Of pictures that PIL has made: one with three channels has a fourth there, which PIL resizes too."""
    real = PLAIN["resize"]

    @functools.wraps(real)
    def resize(
        self: Any, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None
    ) -> Any:
        if box is None and reducing_gap is None:
            made = resized(self, size, resample)
            if made is not None:
                return made
        return real(self, size, resample, box, reducing_gap)

    Image.Image.resize = resize  # type: ignore[method-assign]


def _wrap_tobytes() -> None:
    """np.asarray() comes here too."""
    real = Image.Image.tobytes

    @functools.wraps(real)
    def tobytes(self: Any, encoder_name: str = "raw", *args: Any) -> bytes:
        if encoder_name == "raw" and not args and is_on() and is_pils(self):
            self.load()
            made = pixel_memory.here().packed(self)
            if made is not None:
                return made
        return real(self, encoder_name, *args)

    Image.Image.tobytes = tobytes  # type: ignore[method-assign]


def replace_names() -> None:
    """Once in a process, after the imports of user code."""
    for name in PLAIN:
        setattr(JpegImagePlugin.JpegImageFile, name, _of_opened(name))
    _wrap_load()
    _wrap_exif_transpose()
    _wrap_image_ops()
    _wrap_filter()
    _wrap_resize()
    _wrap_tobytes()
    if "PIL.ImageEnhance" in sys.modules:
        _wrap_enhancements(sys.modules["PIL.ImageEnhance"])
    functional = sys.modules.get("torchvision.transforms.functional")
    if functional is not None:
        _wrap_to_tensor(functional)
