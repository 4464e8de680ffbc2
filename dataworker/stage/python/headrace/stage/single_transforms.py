"""Transforms of torchvision's that user code calls by themselves, on any picture of PIL's.

A Compose is taken as a whole (transforms.py). Of what stands alone, those are taken that are many times as quick
natively, so that the pixels' way out of PIL and back is worth it (docs/adr/0014-native-chains-in-stages.md). Some
programs make such an object for each sample. So a recipe belongs to what an object says, not to the object.
"""

import copy
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from PIL import Image

from ..native.kinds import check_unaltered, kind_of
from ..native.plan import NotNative
from .plain_pictures import LEAST_PIXELS
from .recipes import Recipe

# What each draws from. All give a new picture.
_SAYS = {
    "v1.ColorJitter": ("brightness", "contrast", "saturation", "hue"),
    "v1.GaussianBlur": ("kernel_size", "sigma"),
    "v2.ColorJitter": ("brightness", "contrast", "saturation", "hue"),
    "v2.GaussianBlur": ("kernel_size", "sigma"),
}
_MOST_RECIPES = 64
_PLAIN = (int, float, bool, str, type(None))


class Performer(Protocol):
    """transforms.Performer."""

    @property
    def on(self) -> bool: ...
    def recipe_of(self, transform: Any) -> Recipe: ...
    def made_by(self, recipe: Recipe, image: Any, keeps_info: bool) -> Any: ...


class Said(NamedTuple):
    """What two objects have in common that do the same."""

    kind: str
    values: str
    keeps_info: bool  # the result has the picture's info; else it has none


class Singles:
    """One process's recipes by what transforms say. Not thread-safe in its counts."""

    def __init__(self, performer: Performer) -> None:
        self._performer = performer
        self._recipes: dict[Said, Recipe] = {}
        self._inside = threading.local()

    def call(self, transform: Any, image: Any) -> Any:
        """What `transform` makes of the image; NotImplemented: it must say so itself."""
        if not self._performer.on or not _is_worth(image) or getattr(self._inside, "on", False):
            return NotImplemented
        if torch.get_default_dtype() != torch.float32 or (said := said_by(transform)) is None:
            return NotImplemented
        recipe = self._recipe(said, transform)
        if recipe is None or not recipe.is_native or not recipe.holds():
            return NotImplemented
        # What has no native form comes back here, from the recipe.
        self._inside.on = True
        try:
            return self._performer.made_by(recipe, image, said.keeps_info)
        finally:
            self._inside.on = False

    def _recipe(self, said: Said, transform: Any) -> Recipe | None:
        recipe = self._recipes.get(said)
        if recipe is None and len(self._recipes) < _MOST_RECIPES:
            # Of a copy, which nobody else alters.
            recipe = self._recipes[said] = self._performer.recipe_of(copy.deepcopy(transform))
        return recipe


def said_by(transform: Any) -> Said | None:
    """None: it is no transform that is worth it, was altered, or may give the picture itself back."""
    kind = kind_of(transform)
    if kind is None or (names := _SAYS.get(kind)) is None:
        return None
    try:
        check_unaltered(transform)
        values = [getattr(transform, name) for name in names]
    except (NotNative, AttributeError):
        return None
    given = {name for name, value in zip(names, values, strict=True) if value is not None}
    if not given or not all(map(_is_plain, values)):
        return None
    # The others blend with a new picture, or end in one (F.adjust_hue).
    return Said(kind, repr(values), keeps_info=given == {"saturation"})


def _is_plain(value: Any) -> bool:
    if type(value) in (tuple, list):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _is_worth(image: Any) -> bool:
    if not isinstance(image, Image.Image) or not type(image).__module__.startswith("PIL."):
        return False  # of a class of the program's own, whose methods may do anything
    width, height = image.size
    return image.mode in ("RGB", "L") and width * height >= LEAST_PIXELS


def enable(performer: Performer) -> None:
    """Once in a process, after the imports of user code."""
    singles = Singles(performer)
    v1, v2 = (sys.modules.get(f"torchvision.transforms{api}") for api in ("", ".v2"))
    classes = [getattr(v1, kind[3:]) for kind in _SAYS if v1 is not None and kind.startswith("v1")]
    if v2 is not None:
        classes.append(v2.Transform)  # whose forward() is that of all
    for cls in classes:
        cls.forward = _entered(cls.forward, singles)


def _entered(real: Callable[..., Any], singles: Singles) -> Callable[..., Any]:
    @functools.wraps(real)
    def forward(self: Any, *inputs: Any, **named: Any) -> Any:
        if len(inputs) == 1 and not named:
            made = singles.call(self, inputs[0])
            if made is not NotImplemented:
                return made
        return real(self, *inputs, **named)

    return forward
