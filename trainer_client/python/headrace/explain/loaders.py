"""The DataLoaders of this process."""

import copy
import gc
from typing import Any

import torch.utils.data

from ..loader import hook
from ..service import options

_TorchLoader = torch.utils.data.DataLoader


def live_loaders(first: Any) -> list[Any]:
    """Every DataLoader that the program still has, `first` first, the others from old to new."""
    gc.collect()  # also puts what is left in the order in which it was made
    found = [thing for thing in gc.get_objects() if issubclass(type(thing), _TorchLoader)]
    whole = [loader for loader in found if vars(loader).get("_DataLoader__initialized")]
    return [first, *(loader for loader in whole if loader is not first)]


def rng_of(loader: Any) -> str:
    """The random streams that are asked for: the loader's own choice, or the settings'."""
    own = getattr(loader, "rng", "auto") if hasattr(loader, "_headrace_take_place") else "auto"
    return options.from_environment().rng if own == "auto" else own


def stock_of(loader: Any) -> Any:
    """What makes the stock iterator of this loader."""
    ours = hasattr(loader, "_headrace_take_place")
    return hook.stock_of(_TorchLoader if ours else type(loader))


def with_indices(loader: Any, indices: list[Any]) -> Any:
    """The loader with a list in its sampler's place, random numbers as they are now, and nothing
    shared with it but dataset and functions."""
    twin = copy.copy(loader)
    attributes = vars(twin)  # the loader itself lets nobody change these
    attributes["batch_sampler" if loader._auto_collation else "sampler"] = indices
    attributes["_iterator"], attributes["persistent_workers"] = None, False
    if loader.generator is not None:
        attributes["generator"] = torch.Generator()
        attributes["generator"].set_state(loader.generator.get_state())
    return twin
