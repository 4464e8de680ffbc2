"""Whether native operators may stand for the installed libraries in this process, as it is now.

What the program has replaced (alterations.py), and what it has set so that native code would not follow
(settings.py). One look at each iter(); any thread; nothing is imported or changed.
"""

from collections.abc import Iterable
from typing import Any

from .alterations import (
    BATCHES,
    DATASETS,
    PICTURES,
    TIMM,
    TRANSFORMS,
    first_alteration,
    watch_of,
)
from .plan import NotNative
from .settings import first_setting

# What a native chain on a picture stands for, and a whole native plan of files or of arrays.
OF_CHAIN = (PICTURES, TRANSFORMS)
OF_IMAGES = (BATCHES, DATASETS, PICTURES, TRANSFORMS)
OF_ARRAYS = (BATCHES,)
# In addition, where a node stands for timm's code.
OF_TIMM = (TIMM,)
_SEEN_BY_CALLS = (BATCHES, TRANSFORMS)


class Changed(NotNative):
    """The program has changed what native operators stand for. Its code gives the right samples only
    where the change is: in this process, and in forks of it."""


def first_change(groups: Iterable[str]) -> str:
    """Says what keeps native operators from standing for these groups; empty: nothing."""
    groups = tuple(groups)
    if name := first_alteration(groups):
        return f"the program has replaced {name}"
    return first_setting(groups)


def check_intact(groups: Iterable[str]) -> None:
    """Raises Changed."""
    if found := first_change(groups):
        raise Changed(
            found, "leave the library as it is, and change what its samples are in the dataset"
        )


class ChainWatch:
    """What native chains for these transforms stand for. A look for every sample takes some ten
    microseconds. Thread-compatible."""

    def __init__(self, transforms: Iterable[Any], intact: bool = False) -> None:
        """`intact`: somebody has just looked."""
        self._intact = intact or not first_change(OF_CHAIN)
        self._watch = watch_of(transforms)

    def same(self) -> bool:
        """True: nothing of it was changed or rebound since."""
        return self._intact and self._watch.same() and not first_setting(_SEEN_BY_CALLS)
