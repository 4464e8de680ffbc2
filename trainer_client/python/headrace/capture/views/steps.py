"""A data set's transform as the single transforms that it applies, one after the other."""

from typing import Any

import torch

from ...native.plan import NotNative
from ...native.transforms import kind_of, leaves_of
from .grounds import Grounds
from .recognise import views_of
from .values import Held, name
from .views import indices_of

_RUNS_CODE = ("v1.Lambda",)  # of torchvision's own, which call the program's


def steps_of(transform: Any) -> tuple[list[Any], Grounds | None]:
    """Containers are opened, and the program's own classes and functions are followed. With what
    that rests on; None: on the containers alone. Raises NotNative."""
    leaves = leaves_of(transform)
    if all(_is_torchvisions(leaf) for leaf in leaves):
        return leaves, None
    views = views_of(transform)
    if views.chain is None:
        count = len(set(indices_of(views.result)))
        made = f"{count} views" if count > 1 else "a view in a container"
        raise NotNative(
            f"{name(Held(transform))} makes {made} of each picture, and a plan has one chain of "
            "operators",
            "nothing: this awaits plans with several chains",
        )
    return list(views.chain), views.seen


def _is_torchvisions(leaf: Any) -> bool:
    kind = kind_of(leaf)
    return kind not in (None, *_RUNS_CODE) or type(leaf) is torch.nn.Identity
