"""object_leaf.py, imported where there may be such a data set: few programs have one."""

import sys
from typing import Any

from ..native.plan import Leaf
from .fingerprint import Fingerprint

_CLASSES_OF = ("headrace.objects.folder", "headrace.shards.dataset")


def leaf_of(dataset: Any, seen: Fingerprint) -> Leaf | None:
    """As object_leaf's. None: it is none."""
    if not any(name in sys.modules for name in _CLASSES_OF):
        return None
    from .object_leaf import leaf_of

    return leaf_of(dataset, seen)
