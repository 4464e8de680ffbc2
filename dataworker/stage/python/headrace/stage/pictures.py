"""What deferred images show, as files or pixels and noted steps. Made when wanted, and then once."""

from collections.abc import Callable
from typing import Any

from PIL import Image

from . import pixel_memory
from .render import ImageMaker, Source
from .steps import MOVES, Step


class Picture:
    """RGB pixels. Not thread-safe."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        # The enhancement that blends with this picture, and what it blends with it; None: there is none.
        self.degenerate_of: tuple[str, Picture] | None = None
        self._array: Any = None  # uint8 [H, W, 3] once somebody has wanted it
        self._plain: Image.Image | None = None

    @property
    def is_made(self) -> bool:
        return self._array is not None

    def pixels(self, maker: ImageMaker) -> Any:
        """uint8 [H, W, 3], or None: PIL must make it."""
        if self._array is None:
            self._array = self._made(maker)
        return self._array

    def image(self, maker: ImageMaker) -> Image.Image:
        """An image of its own. Raises Redo, or what PIL raises."""
        pixels = self.pixels(maker)
        return self._by_pil(maker) if pixels is None else pixel_memory.here().image(pixels)

    def plain(self, maker: ImageMaker) -> Image.Image:
        """The same image at each call."""
        if self._plain is None:
            self._plain = self.image(maker)
        return self._plain

    def then(self, step: Step, size: tuple[int, int]) -> "Picture":
        return EditedPicture(self, (step,), size)

    def tensor(self, maker: ImageMaker, by_hand: Callable[..., Any]) -> Any:
        """float32 [3, H, W] as by_hand, which is F.to_tensor; None: it must do it."""
        if self.is_made:
            return maker.edited_tensor(self._array, (), by_hand)
        return self._unmade_tensor(maker, by_hand)

    def _unmade_tensor(self, maker: ImageMaker, by_hand: Callable[..., Any]) -> Any:
        raise NotImplementedError

    def _made(self, maker: ImageMaker) -> Any:
        raise NotImplementedError

    def _by_pil(self, maker: ImageMaker) -> Image.Image:
        raise NotImplementedError


class MadePicture(Picture):
    """Pixels that are there."""

    def __init__(self, pixels: Any) -> None:
        """`pixels`: uint8 [H, W, 3], which nobody writes to any more."""
        height, width, _ = pixels.shape
        super().__init__((width, height))
        self._array = pixels


class FilePicture(Picture):
    """A part of a file."""

    def __init__(self, source: Source, steps: tuple[Step, ...], size: tuple[int, int]) -> None:
        super().__init__(size)
        self.source, self._steps = source, steps

    @property
    def is_whole_file(self) -> bool:
        """True: nobody has decoded it, or asked for less than all of it."""
        return not self.is_made and not self._steps and self.source.uses == 0

    def then(self, step: Step, size: tuple[int, int]) -> Picture:
        if self.is_made or step.op not in MOVES:
            return super().then(step, size)
        return FilePicture(self.source, (*self._steps, step), size)

    def _unmade_tensor(self, maker: ImageMaker, by_hand: Callable[..., Any]) -> Any:
        return maker.tensor(self.source, self._steps, by_hand)

    def _made(self, maker: ImageMaker) -> Any:
        return maker.pixels(self.source, self._steps)

    def _by_pil(self, maker: ImageMaker) -> Image.Image:
        return maker.by_pil(self.source, self._steps)


class EditedPicture(Picture):
    """Steps that begin at the pixels of another picture. Several may begin at the same one: its
    pixels are made once."""

    def __init__(self, base: Picture, steps: tuple[Step, ...], size: tuple[int, int]) -> None:
        super().__init__(size)
        self._base, self._steps = base, steps

    def then(self, step: Step, size: tuple[int, int]) -> Picture:
        if self.is_made:
            return super().then(step, size)
        return EditedPicture(self._base, (*self._steps, step), size)

    def _unmade_tensor(self, maker: ImageMaker, by_hand: Callable[..., Any]) -> Any:
        base = self._base.pixels(maker)
        return None if base is None else maker.edited_tensor(base, self._steps, by_hand)

    def _made(self, maker: ImageMaker) -> Any:
        base = self._base.pixels(maker)
        return None if base is None else maker.edited(base, self._steps)

    def _by_pil(self, maker: ImageMaker) -> Image.Image:
        image = self._base.plain(maker)
        for step in self._steps:
            image = step.by_pil(image)
        return image
