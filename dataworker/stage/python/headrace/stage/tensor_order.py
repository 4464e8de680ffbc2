"""Of which transforms of a decoded tensor the result's order in memory is known.

torchvision.io's tensors have their channels last in memory. Code may look at the order of what
transforms make of them, or add its values up in it. Whether a resize keeps the order depends, in
torch, on what was cropped before it.
"""

from typing import Any

import torch

from ..native.plan import Node

_ANTIALIASED = frozenset(("bilinear", "bicubic"))
# The order of their result is that of their input, and every value has memory of its own after to_dtype.
_KEEP = frozenset(
    ("identity", "normalize", "random_horizontal_flip", "random_vertical_flip", "to_dtype")
)
_LEAST = 2  # with sides of one pixel an order has many strides


def nodes_of_file(nodes: list[Node]) -> list[Node] | None:
    """A chain that begins at the file, for these on the tensor; None: the order is not known."""
    first, *rest = nodes
    begins = [Node("to_image")] if first.op == "to_image" else [Node("pil_to_tensor")]
    if first.op == "to_image":
        first, *rest = rest or [first]
    return [Node("decode", {"mode": "RGB"}), *begins, first, *rest] if _known(first, rest) else None


def _known(first: Node, rest: list[Node]) -> bool:
    args = first.args
    if first.op not in ("resize", "random_resized_crop") or args.get("api") != 2:
        return False
    if args.get("interpolation") not in _ANTIALIASED or not args.get("antialias"):
        return False
    sides = _sides(first)
    if min(sides) < _LEAST or (first.op == "random_resized_crop" and len(sides) != 2):
        return False
    for node in rest:
        if node.op == "center_crop":
            # A larger crop has a border, and a border another order.
            if first.op != "resize" or args.get("max_size") or max(_sides(node)) > min(sides):
                return False
        elif node.op not in _KEEP:
            return False
    return True


def _sides(node: Node) -> list[int]:
    size = node.args["size"]
    return size if isinstance(size, list) else [size]


def has_channels_last(nodes: list[Node], size: tuple[int, int], drawn: list[int]) -> bool | None:
    """Whether the result has its channels last in memory; None: only torch can tell. `nodes`: what
    nodes_of_file took; `drawn`: the words that their chain drew."""
    node = nodes[1] if nodes[0].op == "to_image" else nodes[0]
    if node.op == "resize":
        return True
    top, left, height, width = drawn[:4]
    if [height, width] == _sides(node):
        return None  # the result is a part of the tensor
    whole: Any = torch.empty_strided(
        (3, *size), (1, 3 * size[1], 3), dtype=torch.uint8, device="meta"
    )
    crop = whole[..., top : top + height, left : left + width].reshape(-1, 3, height, width)
    return bool(crop.is_contiguous(memory_format=torch.channels_last))
