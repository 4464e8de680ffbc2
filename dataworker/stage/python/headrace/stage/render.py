"""What deferred images are made of: a file and noted steps, rendered natively or by PIL, compared.

The half of images.py that user code does not see.
"""

import io
import struct
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import PIL
from PIL import Image

from ..process.output import tell
from . import ahead_pictures, leaves, pixel_memory
from .finding import Finding, FoundOut
from .leaf_cost import Worth
from .leaf_streams import Wanted
from .redo import Redo
from .steps import Node, Step

EDITED = "edited"  # in what was checked: a step that began at pixels
WHOLE = "whole"  # the same: steps that began at the whole picture, which was decoded before
_ENOUGH = 4  # pictures, to say what is done with most of them
CHECKS = 2  # images of each sequence of steps that are made both ways
# PIL's own methods, whatever takes their place on images that are opened.
PLAIN: dict[str, Callable[..., Any]] = {
    name: getattr(Image.Image, name)
    for name in ("convert", "copy", "crop", "resize", "transform", "transpose")
}

_DECODE: Node = ("decode", {"mode": "RGB"})
_TO_TENSOR: Node = ("to_tensor", {})


def _image_of(pixels: Any) -> Image.Image:
    return pixel_memory.here().image(pixels)


class _Unkept(io.BytesIO):
    """What is compared with PIL's is PIL's own: nothing is kept of such a stream (leaf_streams.py)."""


class Source:
    """An encoded file that one or more deferred images come from."""

    def __init__(self, file: bytes, wanted: Wanted | None = None) -> None:
        """`wanted`: what all of it is kept as, for other processes; None: it is not."""
        self.file, self._wanted = file, wanted
        self.uses = 0
        self._whole: Image.Image | None = None
        self._pixels: Any = None  # uint8 [H, W, 3], of all of it
        self._looked = False  # whether it is kept
        self.made_ahead: ahead_pictures.Taken | None = None  # all of it, by the worker

    def by_pil(self) -> Image.Image:
        """All of it, decoded by PIL. Raises what PIL raises."""
        opened = Image.open(_Unkept(self.file))
        whole: Image.Image = PLAIN["convert"](opened, "RGB")
        return whole

    def whole(self, maker: "ImageMaker") -> Image.Image:
        """All of it, decoded once: a second crop of one picture does not decode it again."""
        if self._whole is None:
            pixels = self.pixels(maker)
            self._whole = maker.by_pil(self) if pixels is None else _image_of(pixels)
        return self._whole

    def pixels(self, maker: "ImageMaker") -> Any:
        """The same, natively; None: PIL must make it."""
        if self._pixels is None and self._whole is None and not self.is_kept():
            before = time.thread_time()
            taken, self.made_ahead = self.made_ahead, None
            self._pixels = maker.decoded(self) if taken is None else maker.proven(self, taken)
            if self._pixels is not None:
                self._keep(time.thread_time() - before if taken is None else taken.seconds)
        return self._pixels

    def through(self, chain: Any, words: Any, nodes: list[Any], room: Any) -> Any:
        """What a native chain makes of the file. `room`: as Chain.run_file's."""
        with ahead_pictures.Decoding(ahead_pictures.PIL, any("crop" in node.op for node in nodes)):
            return chain.run_file(self.file, words, room)

    def begins_whole(self) -> bool:
        """Whether all of it is there, or should be made: it is kept, or will be."""
        if self._pixels is not None or self.made_ahead is not None or self.is_kept():
            return True
        kept = leaves.active() if self._wanted is not None else None
        if kept is None or self._wanted is None or not kept.wants_whole:
            return False
        return self._wanted.is_named_at_a_cost or worth.is_likely(kept.is_first)

    def is_kept(self) -> bool:
        """Looks for it, once."""
        if self._looked:
            return self._pixels is not None
        kept = leaves.active() if self._wanted is not None else None
        if kept is None or self._wanted is None:
            return False
        self._looked = True
        size, entry = struct.Struct("<2Q"), kept.find(self._wanted.key)
        if entry is None:
            return False
        width, height = size.unpack_from(entry)
        pixels = np.frombuffer(entry, np.uint8)[size.size :]
        if len(pixels) != width * height * 3:
            return False
        self._pixels = pixels.reshape(height, width, 3)
        worth.note(True)
        return True

    def _keep(self, seconds: float) -> None:
        kept = leaves.active() if self._wanted is not None else None
        if kept is None or self._wanted is None:
            return
        size = self._pixels.nbytes
        takes = worth.undisturbed(seconds, size, self._wanted.seconds)
        kept.first_iteration.spend(seconds * _BEYOND_A_PART + self._wanted.seconds)
        if not worth.judge(kept.keeps(takes, size), takes, size, kept.is_first):
            return
        height, width, _ = self._pixels.shape
        parts = struct.pack("<2Q", width, height), memoryview(self._pixels).cast("B")
        named = self._wanted
        kept.offer(named.key, named.ctime_ns, named.began_ns, parts, seconds)


# Of pictures that are decoded whole.
worth = Worth()
# A crop would have taken the rest of these seconds (bench/report/leaves.md).
_BEYOND_A_PART = 1 / 3


class ImageMaker:
    """What this process knows about native images. Its counts are not thread-safe."""

    def __init__(self, renderer: Any, kept: frozenset[str]) -> None:
        self.renderer = renderer
        self.kept = set(kept)  # steps that stay PIL's
        self.on = False  # while a batch is made that can be made again
        # Files that nobody has decoded, too: a process that finds one damaged can begin again.
        self.decodes = True
        self.fresh = 0  # of these, that were met
        self.met_file = False  # one was deferred, or would have been if it decoded
        self.made = 0  # images that were made natively
        self.news = 0  # grows with what is found out
        self._checked: Counter[tuple[str, ...]] = Counter()
        self._pictures = self._used_again = 0

    @property
    def comes_again(self) -> bool:
        """Whether pictures are likely to be wanted more than once: then all of each is decoded at
        once, and not a part of it first."""
        return self._pictures >= _ENOUGH and 2 * self._used_again > self._pictures

    def use(self, source: Source) -> None:
        """Counts a use of the picture."""
        source.uses += 1
        self._pictures += source.uses == 1
        self._used_again += source.uses == 2

    def know(self, found_out: FoundOut) -> None:
        """Takes what other processes have found out."""
        for what, finding in found_out.get("steps", {}).items():
            if finding.same:
                self._checked[what] = max(self._checked[what], finding.checked)
            else:
                self.kept.add(what[0])

    def tell_into(self, found_out: FoundOut) -> None:
        """Adds what this process knows."""
        steps = found_out.setdefault("steps", {})
        steps.update({what: Finding(True, count) for what, count in self._checked.items()})
        steps.update({(op,): Finding(False) for op in self.kept})

    def takes(self, op: str) -> bool:
        return self.on and op not in self.kept

    def takes_file(self, source: Source) -> bool:
        """Whether a file's pixels are made natively."""
        return self.takes("decode") and (self.decodes or source.is_kept())

    @property
    def can_redo(self) -> bool:
        """Whether a batch with a damaged picture is made again."""
        return self.on and self.decodes

    def is_checked(self, what: tuple[str, ...]) -> bool:
        """Whether enough results of `what` were made both ways."""
        return self._checked[what] >= CHECKS

    def check(self, what: tuple[str, ...], same: bool, library: str) -> None:
        """Notes that one was, and was the same, or that it was not. `what` begins with the operator."""
        self.news += 1
        if same:
            self._checked[what] += 1
        else:
            self._keep(what[0], library)

    def pixels(self, source: Source, steps: tuple[Step, ...]) -> Any:
        """uint8 [H, W, 3], or None: PIL must make it."""
        return self._render(source, steps, (), lambda image: image.tobytes())

    def tensor(self, source: Source, steps: tuple[Step, ...], by_hand: Callable[..., Any]) -> Any:
        """float32 [3, H, W] as F.to_tensor, or None."""
        return self._render(
            source, steps, (_TO_TENSOR,), lambda image: by_hand(image).numpy().tobytes()
        )

    def edited(self, pixels: Any, steps: tuple[Step, ...]) -> Any:
        """What the steps make of uint8 [H, W, 3], or None."""
        return self._edit(pixels, steps, (), lambda image: image.tobytes())

    def edited_tensor(
        self, pixels: Any, steps: tuple[Step, ...], by_hand: Callable[..., Any]
    ) -> Any:
        return self._edit(
            pixels, steps, (_TO_TENSOR,), lambda image: by_hand(image).numpy().tobytes()
        )

    def _edit(
        self,
        pixels: Any,
        steps: tuple[Step, ...],
        tail: tuple[Node, ...],
        bits: Callable[[Image.Image], bytes],
    ) -> Any:
        names = [step.op for step in steps] + [name for name, _ in tail]
        if not all(map(self.takes, names)):
            return None
        array = self.renderer.edit(pixels, [*(step.native() for step in steps), *tail])
        if array is None:
            return None
        # Each by itself: a policy that draws its steps makes more sequences than an epoch has pictures.
        if any(self._checked[EDITED, name] < CHECKS for name in names):
            image = _image_of(pixels)
            for step in steps:
                image = step.by_pil(image)
            if array.tobytes() != bits(image):
                self._blame_edit(pixels, steps)
                return None
            for name in names:
                self._checked[EDITED, name] += 1
            self.news += 1
        return array

    def _blame_edit(self, pixels: Any, steps: tuple[Step, ...]) -> None:
        """Does what _blame does."""
        op = "to_tensor"
        image = _image_of(pixels)
        for done, step in enumerate(steps):
            image = step.by_pil(image)
            array = self.renderer.edit(pixels, [step.native() for step in steps[: done + 1]])
            if array is not None and array.tobytes() != image.tobytes():
                op = step.op
                break
        self._keep(op)

    def _render(
        self,
        source: Source,
        steps: tuple[Step, ...],
        tail: tuple[Node, ...],
        bits: Callable[[Image.Image], bytes],
    ) -> Any:
        names = ("decode", *(step.op for step in steps), *(name for name, _ in tail))
        if not self.takes_file(source) or not all(map(self.takes, names)):
            return None
        comes_again = self.comes_again
        self.use(source)
        nodes = [*(step.native() for step in steps), *tail]
        if source.begins_whole() or (steps and (source.uses > 1 or comes_again)):
            whole = source.pixels(self)  # decoded once
            array = self.renderer.edit(whole, nodes) if whole is not None and nodes else whole
            return self._compared((WHOLE, *names), array, source, steps, bits)
        with ahead_pictures.Decoding(ahead_pictures.PIL, any(step.op == "crop" for step in steps)):
            array = self.renderer.render(source.file, [_DECODE, *nodes])
        return self._compared(names, array, source, steps, bits)

    def decoded(self, source: Source) -> Any:
        """All of it, uint8 [H, W, 3], or None: PIL must decode it. No use of it."""
        if not self.takes_file(source):
            return None
        with ahead_pictures.Decoding(ahead_pictures.PIL):
            array = self.renderer.render(source.file, [_DECODE])
        return self._compared(("decode",), array, source, (), Image.Image.tobytes)

    def proven(self, source: Source, taken: ahead_pictures.Taken) -> Any:
        """All of it, as the worker has decoded it; the first ones, and a share, are decoded here, too. None: PIL
        must decode it."""
        if not taken.compares:
            return taken.pixels
        own = self.decoded(source)
        if own is not None and own.tobytes() != taken.pixels.tobytes() and ahead_pictures.here:
            ahead_pictures.here.differ("PIL")
        return own

    def _compared(
        self,
        names: tuple[str, ...],
        array: Any,
        source: Source,
        steps: tuple[Step, ...],
        bits: Callable[[Image.Image], bytes],
    ) -> Any:
        """What was made, if it is what PIL makes."""
        if array is None:
            return None
        if self._checked[names] < CHECKS:
            if array.tobytes() != bits(self.by_pil(source, steps)):
                self._blame(source, steps)
                return None
            self._checked[names] += 1
            self.news += 1
        self.made += 1
        return array

    def by_pil(self, source: Source, steps: tuple[Step, ...] = ()) -> Image.Image:
        try:
            image = source.by_pil() if source.uses <= 1 or not steps else source.whole(self)
            for step in steps:
                image = step.by_pil(image)
        except Exception:
            if self.can_redo:
                raise Redo(source.file) from None
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
                op = steps[done - 1].op if done else "decode"
                break
        self._keep(op)

    def _keep(self, op: str, library: str = f"PIL {PIL.__version__}") -> None:
        self.kept.add(op)
        self.news += 1
        does = library.split()[0]
        tell(f"headrace: {op} gives other bits natively than {library} does: {does} does it")
