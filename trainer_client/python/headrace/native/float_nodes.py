"""What a plan says of nodes whose operators compute on tensors, as the client's torch would: on those of
float32 whether the bits are known, and of a perspective how the grid is made."""

from typing import Any

from . import augment, blurring, float_bits, resizing
from .plan import Node

_RESIZES = frozenset(("resize", "random_resized_crop"))
_TO_TENSOR = frozenset(("to_tensor", "pil_to_tensor", "to_image"))
_COLORS = frozenset(("color_jitter", "grayscale", "random_grayscale", "random_operation"))
_GRIDS = frozenset(("random_affine", "random_rotation", "random_perspective"))


def mark_tensors(nodes: list[Node], of_tensors: bool = False) -> None:
    """Adds the argument `floats` to the nodes that compute on float32, and to perspectives of tensors
    what those of PIL images go without: a worker of an older release refuses these arguments.
    `of_tensors`: the first node is given a tensor."""
    floats: list[bool] = []  # of what each node is given
    tensors: list[bool] = []
    turns = False  # v2's quarter turns leave a tensor column by column in memory
    for number, node in enumerate(nodes):
        before = node.inputs[0] if node.inputs else number - 1
        floats.append(before >= 0 and (floats[before] or _makes_floats(nodes[before])))
        tensor = before >= 0 and (tensors[before] or nodes[before].op in _TO_TENSOR)
        tensors.append(tensor or (before < 0 and of_tensors))
        turns = turns or (
            tensors[-1] and node.op == "random_rotation" and node.args.get("api") == 2
        )
    for node, of_floats, of_tensor in zip(nodes, floats, tensors, strict=True):
        more: dict[str, int] = {}  # nodes may share their arguments
        if of_tensor and node.op == "random_perspective":
            more = {
                "tensor_grids": augment.matrix_products(),
                "api": 1 if node.kind.startswith("v1") else 2,
            }
        known = _known({**node.args, **more}, node.op, turns) if of_floats else None
        if known is not None:
            more["floats"] = int(known)
        if more:
            node.args = {**node.args, **more}


def _makes_floats(node: Node) -> bool:
    return node.op == "to_tensor" or node.args.get("dtype") == "float32"


def _known(args: dict[str, Any], op: str, turns: bool) -> bool | None:
    """None: the operator has no such argument."""
    if op not in (*_RESIZES, *_GRIDS, *_COLORS):
        return None
    api: int = args.get("api", 1)
    if op in _RESIZES:
        way = args["interpolation"], bool(args.get("antialias"))
        return resizing.known_floats(api, *way)
    if op in _GRIDS:
        return float_bits.known(float_bits.GRIDS, api)
    if args.get("operation") == "sharpness" and not blurring.sums_known(api):
        return False
    # A mean adds up in the order of the memory.
    mean = op == "color_jitter" and args.get("contrast") is not None
    return float_bits.known(float_bits.COLORS, api) and not (mean and turns)
