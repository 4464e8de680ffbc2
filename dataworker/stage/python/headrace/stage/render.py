"""What deferred images are made of: a file and noted steps, rendered natively or by PIL, compared.

The half of images.py that user code does not see.
"""

import io
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import PIL
from PIL import Image

from ..process.output import tell
from .redo import Redo

CHECKS = 2  # images of each sequence of steps that are made both ways
FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # by PIL's numbers
FLIPS = ("horizontal", "vertical")  # PIL's FLIP_LEFT_RIGHT, FLIP_TOP_BOTTOM
# PIL's own methods, whatever takes their place on images that are opened.
PLAIN: dict[str, Callable[..., Any]] = {
    name: getattr(Image.Image, name) for name in ("convert", "copy", "crop", "resize", "transpose")
}

_Node = tuple[str, dict[str, Any]]


class Step(NamedTuple):
    """One of PIL's methods that was called on an image."""

    op: str
    argument: Any  # crop: (left, top, right, bottom); resize: (size, filter); flip: 0 or 1

    def native(self) -> _Node:
        if self.op == "crop":
            left, top, right, bottom = self.argument
            return "crop", {"top": top, "left": left, "size": [bottom - top, right - left]}
        if self.op == "resize":
            (width, height), resample = self.argument
            return "resize", {"size": [height, width], "interpolation": FILTERS[resample]}
        return "flip", {"axis": FLIPS[self.argument]}

    def by_pil(self, image: Image.Image) -> Image.Image:
        if self.op == "crop":
            return image.crop(self.argument)
        if self.op == "resize":
            return image.resize(*self.argument)
        return image.transpose(self.argument)


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


_DECODE: _Node = ("decode", {"mode": "RGB"})
_TO_TENSOR: _Node = ("to_tensor", {})


class Source:
    """An encoded file that one or more deferred images come from."""

    def __init__(self, file: bytes) -> None:
        self.file = file
        self.uses = 0
        self._whole: Image.Image | None = None

    def by_pil(self) -> Image.Image:
        """All of it, decoded by PIL. Raises what PIL raises."""
        opened = Image.open(io.BytesIO(self.file))
        whole: Image.Image = PLAIN["convert"](opened, "RGB")
        return whole

    def whole(self, maker: "ImageMaker") -> Image.Image:
        """All of it, decoded once: a second crop of one picture does not decode it again."""
        if self._whole is None:
            self._whole = maker.image(self, ())
        return self._whole


class ImageMaker:
    """What this process knows about native images. Its counts are not thread-safe."""

    def __init__(self, renderer: Any, kept: frozenset[str]) -> None:
        self.renderer = renderer
        self.kept = set(kept)  # steps that stay PIL's
        self.on = False  # while a batch is made that can be made again
        self.made = 0  # images that were made natively
        self._checked: Counter[tuple[str, ...]] = Counter()

    def takes(self, op: str) -> bool:
        return self.on and op not in self.kept

    def image(self, source: Source, steps: tuple[Step, ...]) -> Image.Image:
        pixels = self.pixels(source, steps)
        if pixels is None:
            return self.by_pil(source, steps)
        height, width, _ = pixels.shape
        return Image.frombytes("RGB", (width, height), pixels)

    def pixels(self, source: Source, steps: tuple[Step, ...]) -> Any:
        """uint8 [H, W, 3], or None: PIL must make it."""
        return self._render(source, steps, (), lambda image: image.tobytes())

    def tensor(self, source: Source, steps: tuple[Step, ...], by_hand: Callable[..., Any]) -> Any:
        """float32 [3, H, W] as F.to_tensor, or None."""
        return self._render(
            source, steps, (_TO_TENSOR,), lambda image: by_hand(image).numpy().tobytes()
        )

    def _render(
        self,
        source: Source,
        steps: tuple[Step, ...],
        tail: tuple[_Node, ...],
        bits: Callable[[Image.Image], bytes],
    ) -> Any:
        nodes = [_DECODE, *(step.native() for step in steps), *tail]
        names = tuple(name for name, _ in nodes)
        if not all(map(self.takes, names)):
            return None
        source.uses += 1
        if steps and source.uses > 1:
            return None  # from the whole image, which is cheaper by now
        array = self.renderer.render(source.file, nodes)
        if array is None:
            return None
        if self._checked[names] < CHECKS:
            if array.tobytes() != bits(self.by_pil(source, steps)):
                self._blame(source, steps)
                return None
            self._checked[names] += 1
        self.made += 1
        return array

    def by_pil(self, source: Source, steps: tuple[Step, ...] = ()) -> Image.Image:
        try:
            image = source.by_pil() if source.uses <= 1 or not steps else source.whole(self)
            for step in steps:
                image = step.by_pil(image)
        except Exception:
            if self.on:
                raise Redo from None
            raise
        return image

    def _blame(self, source: Source, steps: tuple[Step, ...]) -> None:
        """Keeps the first step that differs from PIL's. None of them: the conversion to a tensor."""
        op = "to_tensor"
        image = source.by_pil()
        for done in range(len(steps) + 1):
            if done > 0:
                image = steps[done - 1].by_pil(image)
            nodes = [_DECODE, *(step.native() for step in steps[:done])]
            array = self.renderer.render(source.file, nodes)
            if array is not None and array.tobytes() != image.tobytes():
                op = nodes[-1][0]
                break
        self.kept.add(op)
        tell(
            f"headrace: {op} gives other bits natively than PIL {PIL.__version__} does: PIL does it"
        )
