"""timm's transforms that are one of torchvision's on a picture (recipes.py)."""

import sys
import types
from typing import Any

from ..native.genuine import is_genuine
from ..native.kinds import check_unaltered
from ..native.plan import Node

_MODULE = "timm.data.transforms"
_FUNCTIONAL = "torchvision.transforms.functional"
# Of a tensor they give the tensor back; a chain begins at a picture.
_OPS = {"MaybeToTensor": "to_tensor", "MaybePILToTensor": "pil_to_tensor"}


def timm_node(leaf: Any) -> Node | None:
    """None: it is another transform, or the program has altered what this one is."""
    cls = type(leaf)
    op = _OPS.get(cls.__name__)
    if op is None or not is_timms(cls):
        return None
    check_unaltered(leaf)
    return Node(op, {}, label=repr(leaf))


def is_timms(cls: type) -> bool:
    """Whether it is timm's own class, and calls what timm's text says."""
    module = sys.modules.get(_MODULE)
    functional = getattr(module, "F", None)
    call = vars(cls).get("__call__")
    return (
        getattr(module, cls.__name__, None) is cls
        and functional is not None
        and functional is sys.modules.get(_FUNCTIONAL)
        and isinstance(call, types.FunctionType)
        and call.__qualname__ == f"{cls.__name__}.__call__"
        and is_genuine(call, "timm")
    )
