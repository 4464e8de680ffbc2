"""Pictures that nobody has wanted the pixels of: images.py says what they are for."""

import io
from collections.abc import Callable
from typing import Any

from PIL import Image, JpegImagePlugin

from . import leaf_pictures
from .picture_files import maker, source_of
from .pictures import FilePicture, MadePicture, Picture
from .redo import Redo
from .render import Source
from .steps import (
    FILTERS,
    FLIPS,
    Step,
    affine_step,
    blur_step,
    corners_of,
    enhance_step,
    point_step,
    two_sides,
)

LOAD = leaf_pictures.LOAD  # ImageFile.load, whatever takes its place

# Enhancements that blend with a new image, which has no info.
_NEW_INFO = frozenset(("brightness", "contrast"))


class DeferredImage(Image.Image):
    """An RGB image whose pixels nobody has wanted yet. Becomes a plain Image when somebody does."""

    _picture: Picture

    @property
    def im(self) -> Any:
        self._become_plain()
        return self.im

    @im.setter
    def im(self, core: Any) -> None:
        if core is None:
            return  # Image.__init__ of an older PIL
        del self.__dict__["_picture"]
        self.__class__ = Image.Image  # type: ignore[assignment]  # it becomes a plain one
        self.im = core

    def load(self) -> Any:
        self._become_plain()
        return self.load()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        pixels = self._picture.pixels(maker())
        if pixels is None:
            self._become_plain()
            return self.__array_interface__
        # As PIL's: a view that can't be written through.
        data = memoryview(pixels).cast("B").toreadonly()
        return {"version": 3, "shape": pixels.shape, "typestr": "|u1", "data": data}

    @property
    def source(self) -> Source | None:
        """The file that it shows all of, if nobody has decoded it; None: it is something else."""
        picture = self._picture
        if not isinstance(picture, FilePicture) or not picture.is_whole_file:
            return None
        source = picture.source
        return None if maker().comes_again or source.begins_whole() else source

    def tensor(self, by_hand: Callable[..., Any]) -> Any:
        """Does what by_hand does, which is F.to_tensor. None: by_hand must do it."""
        return self._picture.tensor(maker(), by_hand)

    def copy(self) -> Image.Image:
        return showing(self, self._picture)

    __copy__ = copy

    def convert(self, mode: Any = None, *args: Any, **named: Any) -> Image.Image:
        if mode in (None, "RGB") and not args and not named:
            return self.copy()
        return super().convert(mode, *args, **named)

    def crop(self, box: Any = None) -> Image.Image:
        if box is None or tuple(box) == (0, 0, *self.size):
            return self.copy()
        corners = corners_of(box)
        if corners is None or not maker().takes("crop"):
            return super().crop(box)
        left, top, right, bottom = corners
        return self._with(Step("crop", corners), (right - left, bottom - top))

    def resize(
        self, size: Any, resample: Any = None, box: Any = None, reducing_gap: Any = None
    ) -> Any:
        wanted = two_sides(size)
        kind = Image.Resampling.BICUBIC if resample is None else resample
        known = isinstance(kind, int) and kind in range(len(FILTERS))
        plain = known and box is None and reducing_gap is None
        if wanted is None or not plain or not maker().takes("resize"):
            return super().resize(size, resample, box, reducing_gap)
        if wanted == self.size:
            return self.copy()
        return self._with(Step("resize", (wanted, int(kind))), wanted)

    def transpose(self, method: Any) -> Image.Image:
        known = isinstance(method, int) and method in range(len(FLIPS))
        if not known or not maker().takes("flip"):
            return super().transpose(method)
        return self._with(Step("flip", int(method)), self.size)

    def transform(
        self,
        size: Any,
        method: Any,
        data: Any = None,
        resample: Any = Image.Resampling.NEAREST,
        fill: Any = 1,
        fillcolor: Any = None,
    ) -> Image.Image:
        if two_sides(size) == self.size and maker().takes("affine"):
            step = affine_step(method, data, resample, fillcolor)
            if step is not None:
                return self._with(step, self.size)
        return super().transform(size, method, data, resample, fill, fillcolor)

    def point(self, lut: Any, mode: Any = None) -> Image.Image:
        if mode is None and maker().takes("point"):
            if callable(lut) and not isinstance(lut, Image.ImagePointHandler):
                lut = [lut(value) for value in range(256)] * 3  # as PIL calls it
            step = point_step(lut)
            if step is not None:
                return self._with(step, self.size)
        return super().point(lut, mode)

    def filter(self, filter: Any) -> Image.Image:
        step = blur_step(filter) if maker().takes("gaussian_blur") else None
        return super().filter(filter) if step is None else self._with(step, self.size)

    def edited(self, op: str) -> Image.Image | None:
        """After a step that has no argument; None: PIL must do it."""
        return self._with(Step(op, None), self.size) if maker().takes(op) else None

    def degenerate(self, op: str) -> Image.Image | None:
        """What an enhancement blends this image with; None: PIL must make it."""
        if not maker().takes(op) or "transparency" in self.info:
            return None
        made = self._with(Step(op, 0.0), self.size)  # PIL copies it where the factor is 0
        made._picture.degenerate_of = op, self._picture
        if op in _NEW_INFO:
            made.info = {}
        return made

    def blended(self, image: "DeferredImage", factor: Any) -> Image.Image | None:
        """PIL's blend of an enhancement: of what it blends the image with, and the image. None: it
        is another one."""
        op, picture = self._picture.degenerate_of or ("", None)
        step = enhance_step(op, factor)
        if picture is not image._picture or step is None or not maker().takes(op):
            return None
        return showing(self, image._picture.then(step, image.size))

    def __eq__(self, other: object) -> bool:
        self._become_plain()
        if isinstance(other, DeferredImage):
            other._become_plain()
        return self == other

    __hash__ = None  # type: ignore[assignment]  # as PIL's

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._become_plain()
        return self.__reduce_ex__(protocol)

    def _with(self, step: Step, size: tuple[int, int]) -> "DeferredImage":
        return showing(self, self._picture.then(step, size))

    def _become_plain(self) -> None:
        self.im = self._picture.image(maker()).im


class LoadedImage(JpegImagePlugin.JpegImageFile):
    """An opened file after load(), convert() and the like, whose own pixels nobody has looked at. Becomes
    what PIL opened when somebody does, with its pixels by PIL; what convert() and the like return is
    deferred."""

    _source: Source
    _undecoded: list[Any]

    @property
    def im(self) -> Any:
        self._become_opened()
        return self.im

    @im.setter
    def im(self, core: Any) -> None:
        self._leave()
        self.im = core

    def load(self) -> Any:
        self._become_opened()
        return LOAD(self)

    def close(self) -> None:
        self._leave()
        self.close()

    def __eq__(self, other: object) -> bool:
        self._become_opened()
        if isinstance(other, LoadedImage):
            other._become_opened()
        return self == other

    __hash__ = None  # type: ignore[assignment]  # as PIL's

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._become_opened()
        return self.__reduce_ex__(protocol)

    def _become_opened(self) -> None:
        file = self._source.file
        self.tile, self.fp = self._undecoded, io.BytesIO(file)
        self._leave()
        try:
            LOAD(self)
        except Exception:
            if maker().can_redo:
                raise Redo(file) from None
            raise

    def _leave(self) -> None:
        del self._source, self._undecoded
        self.__class__ = JpegImagePlugin.JpegImageFile  # type: ignore[assignment]  # as above


class PixelAccess:
    """What load() returns, of an image whose pixels nobody has wanted yet."""

    def __init__(self, image: LoadedImage) -> None:
        self._image = image

    def __getitem__(self, at: Any) -> Any:
        return self._image.load()[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self._image.load()[at] = value


# What people see of them: plain images. They are before they are ever pickled.
for _ours, _theirs in (
    (DeferredImage, Image.Image),
    (LoadedImage, JpegImagePlugin.JpegImageFile),
):
    for _name in ("__module__", "__name__", "__qualname__"):
        setattr(_ours, _name, getattr(_theirs, _name))


def of_array(pixels: Any, info: dict[str, Any]) -> DeferredImage:
    """One that shows uint8 [H, W, 3], which nobody else writes to."""
    image = _of_picture(MadePicture(pixels))
    image.info = dict[Any, Any](info)
    return image


def _of_picture(picture: Picture) -> DeferredImage:
    image = DeferredImage()
    image._picture = picture
    image._mode, image._size = "RGB", picture.size
    return image


def showing(like: Image.Image, picture: Picture) -> DeferredImage:
    """A picture that is as `like` but for its pixels."""
    image = _of_picture(picture)
    copy_info = getattr(like, "_copy_info", like.info.copy)  # PIL 13 copies lists in it too
    image.info = copy_info()
    return image


def defer(opened: Any) -> DeferredImage | None:
    """The pixels of a file that PIL has opened and not yet decoded, as RGB."""
    if type(opened) is LoadedImage and maker().takes_file(opened._source):
        return showing(opened, FilePicture(opened._source, (), opened.size))
    source = source_of(opened)
    if source is None:
        return None
    as_loaded(opened, source)
    return showing(opened, FilePicture(source, (), opened.size))


def as_loaded(opened: Any, source: Source) -> None:
    """Leaves the image of that source as PIL does that has decoded it: later use decodes it, and
    draft() has no effect any more."""
    if opened._exclusive_fp:
        opened.fp.close()
    opened._source, opened._undecoded = source, opened.tile
    opened.tile, opened.fp, opened.readonly = [], None, 0
    opened.__class__ = LoadedImage


def deferred_of(image: Any) -> DeferredImage | None:
    """An RGB image that nobody has decoded."""
    if type(image) is DeferredImage:
        return image
    return defer(image) if image.mode == "RGB" else None
