"""A data set's transform as the single transforms that it applies, one after the other."""

from typing import Any

import torch

from ...native.kinds import kind_of
from ...native.nodes import leaves_of
from ...native.plan import NotNative
from .grounds import Grounds
from .recognise import views_of
from .values import Held, name
from .views import Views

_RUNS_CODE = ("v1.Lambda",)  # of torchvision's own, which call the program's


def steps_of(transform: Any) -> tuple[list[Any], Grounds | None]:
    """The single transforms, where it is one chain. As steps_or_views otherwise."""
    found, seen = steps_or_views(transform)
    if isinstance(found, Views):
        raise NotNative(f"{name(Held(transform))} makes several views of each picture")
    return found, seen


def steps_or_views(transform: Any) -> tuple[list[Any] | Views, Grounds | None]:
    """Containers are opened, and the program's own classes and functions are followed. With what
    that rests on; None: on the containers alone. Raises NotNative."""
    leaves = leaves_of(transform)
    if all(_is_torchvisions(leaf) for leaf in leaves):
        return leaves, None
    views = views_of(transform)
    return views if views.chain is None else list(views.chain), views.seen


def _is_torchvisions(leaf: Any) -> bool:
    kind = kind_of(leaf)
    return kind not in (None, *_RUNS_CODE) or type(leaf) is torch.nn.Identity
