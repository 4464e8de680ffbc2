"""torchvision's transforms in Python stages: what has a native form runs as one, from file to tensor.

In a stage host, a torchvision Compose that user code calls on a picture runs as chains of native
operators wherever it consists of transforms with a native form, with the draws that they make from
torch's generator. What stands between them (RandomApply and its like, transforms of other makers)
runs as it is, on a PIL image that is made for it.

The bits are torchvision's: the first pictures of each chain are made both ways, values and generator
compared. A chain that differs is torchvision's from then on in this host, and one line says so. A
picture that the native operators refuse is torchvision's alone.

Why so: docs/adr/0014-native-chains-in-stages.md.
"""

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from PIL import Image

from ..native.kinds import kind_of
from ..process.output import tell
from . import (
    iou_crops,
    single_transforms,
    tensor_colors,
    tensor_floats,
    tensor_kernels,
)
from .deferred import DeferredImage, deferred_of, of_array
from .finding import FoundOut
from .plain_pictures import is_pils, is_plain_array
from .recipes import Choice, Part, Recipe, Run
from .render import CHECKS, ImageMaker, Source
from .run_forms import FILE, RGB, TENSOR, Forms, Known, L, Like
from .tensor_order import has_channels_last
from .tensors import Undecoded, room_for, settle
from .transform_values import (
    Pixels,
    bits,
    by_hand,
    channels_of,
    is_image,
    made_bits,
    made_like,
    ordered,
    shown,
)

# More transforms than that are not kept: the program makes them again for each sample. Fewer, where few are called again.
_MOST_RECIPES, _MOST_ONCE, _AGAIN = 64, 16, 1 / 4
_NOTHING_DRAWN = np.empty(0, np.uint8)


class Performer:
    """Its counts are not thread-safe."""

    def __init__(self, maker: ImageMaker) -> None:
        self._maker = maker
        self._drawing = threading.RLock()  # between a look at torch's generator and moving it on
        self._recipes: dict[tuple[int, bool], Recipe] = {}
        self._compiled = 0
        self._again: set[tuple[int, bool]] = set()  # called more than once
        self._forms = Forms(maker)

    @property
    def maker(self) -> ImageMaker:
        return self._maker

    @property
    def compiled(self) -> set[tuple[int, bool]]:
        """What recipes there are: the id of a transform, and whether it begins at a tensor."""
        return set(self._recipes)

    def keep(self, wanted: list[tuple[Any, bool]]) -> None:
        """Keeps the recipes of these transforms as they are now, and makes those that are missing.
        Called before the fork, which goes on with them."""
        keys = {(id(transform), of_tensor) for transform, of_tensor in wanted}
        self._recipes = {
            key: recipe for key, recipe in self._recipes.items() if key in keys and recipe.holds()
        }
        self._compiled = len(self._recipes)
        for transform, of_tensor in wanted:
            if type(transform) in dict(_entrances()):
                self._recipe(transform, of_tensor)
        self._again = set(self._recipes)  # the data set has them

    def begin(self) -> None:
        """Once in a process, when names of libraries were replaced there: what the recipes go through
        is looked at from now on."""
        for recipe in self._recipes.values():
            recipe.watch()

    def know(self, found_out: FoundOut) -> None:
        """Takes what other processes have found out."""
        self._forms.know(found_out.get("runs", {}))

    def tell_into(self, found_out: FoundOut) -> None:
        """Adds what this process knows."""
        found_out["runs"] = dict(self._forms.found())

    # Of transforms that stand alone (single_transforms.py).

    @property
    def on(self) -> bool:
        return self._maker.on

    def recipe_of(self, transform: Any) -> Recipe:
        """Of an object that nobody else has, and that is kept."""
        recipe = Recipe(transform, self._forms, self.perform)
        self._maker.news += 1
        return recipe

    def made_by(self, recipe: Recipe, image: Any, keeps_info: bool) -> Any:
        made = self.perform(recipe.parts, image)
        if not isinstance(made, Pixels):
            return made
        made = made._replace(info=made.info if keeps_info else {})
        return of_array(*made) if made.array.shape[2] == 3 else made.image()

    def call(self, transform: Any, image: Any) -> Any:
        """What `transform` makes of the image; NotImplemented: it must say so itself."""
        of_tensor, is_array = type(image) is Undecoded, type(image) is np.ndarray
        if not self._maker.on or not (of_tensor or is_plain_array(image) or is_pils(image)):
            return NotImplemented
        if torch.get_default_dtype() != torch.float32:
            return NotImplemented  # the operators make float32, and draw it
        recipe = self._recipe(transform, of_tensor)
        if recipe is None or not recipe.is_native or (is_array and not _takes_arrays(recipe)):
            return NotImplemented
        if not recipe.holds():
            return NotImplemented
        return shown(self.perform(recipe.parts, image))

    def takes(self, transform: Any) -> bool:
        """Whether call() with what stands for a tensor would decode no more than it needs."""
        if not self._maker.on or torch.get_default_dtype() != torch.float32:
            return False
        recipe = self._recipe(transform, True)
        if recipe is None or not recipe.holds():
            return False
        first = recipe.parts[0] if recipe.parts else None
        return (
            isinstance(first, Run) and first.form.trusted and first.form.chain(TENSOR) is not None
        )

    def _recipe(self, transform: Any, of_tensor: bool) -> Recipe | None:
        key = id(transform), of_tensor
        recipe = self._recipes.get(key)
        if recipe is not None:
            self._again.add(key)
        elif self._may_compile():
            self._compiled += 1
            recipe = Recipe(transform, self._forms, self.perform, of_tensor)
            self._recipes[key] = recipe
            self._maker.news += 1
        return recipe

    def _may_compile(self) -> bool:
        stay = len(self._again) >= _AGAIN * self._compiled
        return self._compiled < (_MOST_RECIPES if stay else _MOST_ONCE)

    def perform(self, parts: list[Part], value: Any) -> Any:
        for part in parts:
            if isinstance(part, Run):
                value = self._run(part, value)
            elif isinstance(part, Choice):
                value = part(settle(value))
            else:
                value = part.transform(settle(shown(value)))
        return value

    def _run(self, run: Run, value: Any) -> Any:
        if run.may_keep and run.form.trusted and is_image(value) and self._keeps(run, value):
            return value
        made = self._native(run, value) if run.form.trusted else None
        return by_hand(run, settle(shown(value))) if made is None else made

    def _keeps(self, run: Run, value: Any) -> bool:
        """Whether torchvision gives this object back, by what it draws now: it shows on any image. If
        it does not, nothing is drawn yet."""
        any_image = Image.new("RGB" if channels_of(value) == 3 else "L", (1, 1))
        with self._drawing, self._off():
            state = torch.get_rng_state()
            kept = by_hand(run, any_image) is any_image
            if not kept:
                torch.set_rng_state(state)
        return kept

    def _native(self, run: Run, value: Any) -> Any:
        """None: there is no native form of it."""
        if type(value) is Undecoded:
            return self._of_tensor(run, value)
        if is_pils(value):
            value = deferred_of(value) or value
        beginning, pixels, source = self._beginning(value)
        chain = run.form.chain(beginning) if beginning else None
        if chain is None:
            return None
        with self._drawing if chain.is_random else nullcontext():
            return self._made(run, beginning, value, pixels, source)

    def _made(
        self, run: Run, beginning: str, value: Any, pixels: Any, source: Source | None
    ) -> Any:
        chain, known = run.form.chain(beginning), run.form.known(beginning)
        state = torch.get_rng_state() if chain.is_random else None
        words = _NOTHING_DRAWN if state is None else state.numpy()
        # Into a tensor at once, where that is what a run makes.
        room = room_for if run.form.makes_tensor else None
        array = (
            chain.run_pixels(pixels, words, room)
            if source is None
            else source.through(chain, words, run.form.nodes, room)
        )
        if array is None:
            return None
        checked = known.checked < CHECKS
        made = self._compare(run, known, value, source, array, state) if checked else None
        if run.form.trusted and (
            source is not None or not isinstance(value, DeferredImage | Pixels)
        ):
            self._maker.made += 1
        if checked:
            return made
        if state is not None:
            torch.set_rng_state(state)
        if source is not None:
            self._maker.use(source)
        return made_like(known.like, array) if run.form.makes_tensor else Pixels(array, value.info)

    def _of_tensor(self, run: Run, undecoded: Undecoded) -> Any:
        """What the run makes of a tensor that nobody has decoded, from its file."""
        chain, known = run.form.chain(TENSOR), run.form.known(TENSOR)
        if chain is None:
            return None
        with self._drawing if chain.is_random else nullcontext():
            state = torch.get_rng_state() if chain.is_random else None
            words = _NOTHING_DRAWN if state is None else state.numpy()
            made = chain.run_file_drawn(undecoded.file, words)
            if made is None:
                return None
            array, drawn = made
            last = has_channels_last(run.form.nodes, undecoded.size, drawn)
            if last is None:
                return None
            if known.checked < CHECKS:
                return self._compare_tensor(run, settle(undecoded), array, state, last)
            if state is not None:
                torch.set_rng_state(state)
        return ordered(known.like, array, last)

    def _compare_tensor(self, run: Run, value: Any, array: Any, state: Any, last: bool) -> Any:
        """Does what _compare does."""
        known = run.form.known(TENSOR)
        with self._off():
            made = by_hand(run, value)
        known.like = Like.of(made)
        self._maker.news += 1
        same = state is None or bytes(torch.get_rng_state().numpy()) == bytes(state.numpy())
        if not same or not isinstance(made, torch.Tensor) or bits(made) != made_bits(array):
            self._distrust(run)
        elif ordered(known.like, array, last).stride() != made.stride():
            run.form.trusted = False  # a part of a larger one, as its strides tell
        else:
            known.checked += 1
        return made

    def _beginning(self, value: Any) -> tuple[str, Any, Source | None]:
        """Where a chain begins: its name, the pixels, or a file that nobody has decoded."""
        # Asked once: it is not the same each time (Source.begins_whole).
        source = value.source if isinstance(value, DeferredImage) else None
        if source is not None:
            return FILE, None, source
        if isinstance(value, Pixels):
            array = value.array
        elif type(value) is np.ndarray:
            array = np.ascontiguousarray(value)
        elif is_pils(value) and value.mode in ("RGB", "L"):
            array = np.asarray(value)
        else:
            return "", None, None
        return (RGB if array.ndim == 3 and array.shape[2] == 3 else L), array, None

    def _compare(
        self, run: Run, known: Known, value: Any, source: Source | None, array: Any, state: Any
    ) -> Any:
        """What Python makes of it, which is the same."""
        image = self._maker.by_pil(source) if source is not None else shown(value)
        with self._off():
            made = by_hand(run, image)
        same = state is None or bytes(torch.get_rng_state().numpy()) == bytes(state.numpy())
        self._maker.news += 1
        if same and bits(made) == made_bits(array):
            known.checked += 1
            known.like = Like.of(made)
            if run.form.makes_tensor and made_like(known.like, array).stride() != made.stride():
                run.form.trusted = False  # a part of a larger one, as its strides tell
            return made
        self._distrust(run)
        return made

    def _distrust(self, run: Run) -> None:
        run.form.trusted = False
        names = ", ".join(node.op for node in run.form.nodes)
        tell(
            f"headrace: {names} give other bits natively than torchvision does: torchvision does them"
        )

    @contextmanager
    def _off(self) -> Iterator[None]:
        self._maker.on = False
        try:
            yield
        finally:
            self._maker.on = True


def _takes_arrays(recipe: Recipe) -> bool:
    """Whether it begins with what makes the same of a picture's pixels, and gives a tensor."""
    first = recipe.parts[0]
    return isinstance(first, Run) and kind_of(first.leaves[0]) == "v1.ToTensor"


_performer: Performer | None = None
_entered_by: dict[type, tuple[str, Any]] = {}


def enable(performer: Performer) -> None:
    """Once in a process, after the imports of user code."""
    global _performer
    _performer = performer
    for kernel in (tensor_colors.KERNEL, tensor_floats.KERNEL):
        tensor_kernels.enable(kernel, performer.maker)
    iou_crops.enable(performer.maker)
    for cls, name in _entrances():
        call = _entered(getattr(cls, name), performer)
        setattr(cls, name, call)
        _entered_by[cls] = name, call
    single_transforms.enable(performer)
    performer.begin()


def takes(transform: Any) -> bool:
    """Whether a call of this object with what stands for a tensor (tensors.py) makes its result from the
    file, or at least from a tensor: no code but torchvision's sees what stood there."""
    name, call = _entered_by.get(type(transform), ("", None))
    if _performer is None or call is None or vars(type(transform)).get(name) is not call:
        return False
    return _performer.takes(transform)


def _entrances() -> Iterator[tuple[type, str]]:
    """The methods by which user code calls the transforms that this process knows."""
    if "torchvision.transforms" in sys.modules:
        yield sys.modules["torchvision.transforms"].Compose, "__call__"
    if "torchvision.transforms.v2" in sys.modules:
        yield sys.modules["torchvision.transforms.v2"].Compose, "forward"


def _entered(real: Callable[..., Any], performer: Performer) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(self: Any, *inputs: Any, **named: Any) -> Any:
        if len(inputs) == 1 and not named:
            made = performer.call(self, inputs[0])
            if made is not NotImplemented:
                return made
        return real(self, *map(settle, inputs), **named)

    return call
