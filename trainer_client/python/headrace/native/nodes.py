"""The nodes of transforms, for those who seldom meet one: transforms.py knows all of them, and takes half of what
is native with it. It is imported with the first one."""

from typing import TYPE_CHECKING, Any

from ..process.own_imports import Late
from .plan import Node

if TYPE_CHECKING:
    from . import transforms
else:
    transforms = Late("headrace.native.transforms")


def nodes_of_leaf(transform: Any) -> list[Node]:
    """As transforms.nodes_of_leaf."""
    return transforms.nodes_of_leaf(transform)


def leaves_of(transform: Any) -> list[Any]:
    """As transforms.leaves_of."""
    return transforms.leaves_of(transform)
