"""What a plan says of nodes whose operators compute on tensors, as the client's torch would: on those of
float32 whether the bits are known, of a perspective how the grid is made, and what several threads of
torch's would make otherwise."""

from typing import Any

from . import augment, blurring, float_bits, resizing
from .plan import Node, NotNative

_RESIZES = frozenset(("resize", "random_resized_crop"))
_TO_TENSOR = frozenset(("to_tensor", "pil_to_tensor", "to_image"))
_COLORS = frozenset(("color_jitter", "grayscale", "random_grayscale", "random_operation"))
_GRIDS = frozenset(("random_affine", "random_rotation", "random_perspective", "elastic_transform"))
_POLICIES = frozenset(("auto_augment", "rand_augment", "trivial_augment_wide"))
# torch shares the work on more numbers among its threads. That changes the order of a sum, and which
# elements of a blend with one number are at an end.
_MOST_NUMBERS = 32767
# Sums of more bytes may be inexact, and so depend on their order.
_MOST_EXACT = (1 << 24) // 255


def mark_tensors(nodes: list[Node], of_tensors: bool = False) -> None:
    """Adds the argument `floats` to the nodes that compute on float32, and to perspectives of tensors
    what those of PIL images go without: a worker of an older release refuses these arguments.
    `of_tensors`: the first node is given a tensor."""
    floats, tensors = _given(nodes, of_tensors)
    # v2's quarter turns leave a tensor column by column in memory.
    turns = any(
        tensor and node.op == "random_rotation" and node.args.get("api") == 2
        for node, tensor in zip(nodes, tensors, strict=True)
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


def limit_to_one_thread(nodes: list[Node]) -> None:
    """For a loader without workers: in the program's own process torch may use several threads. Larger
    images whose contrast is changed are the trainer's. Raises NotNative where that can't be said."""
    floats, tensors = _given(nodes)
    for node, of_floats, tensor in zip(nodes, floats, tensors, strict=True):
        if node.op == "color_jitter" and tensor and node.args.get("contrast") is not None:
            blends = of_floats or node.args.get("api") == 2
            most = _MOST_NUMBERS // 3 if blends else _MOST_EXACT
            node.args = {**node.args, "mean_pixels": most}
        elif node.op in _POLICIES and tensor or node.op == "aug_mix" and node.args["all_ops"]:
            raise NotNative(
                f"{node.label} may change the contrast of a tensor, which several threads of torch's "
                "make with other bits than one",
                "num_workers=1 or more",
            )


def _given(nodes: list[Node], of_tensors: bool = False) -> tuple[list[bool], list[bool]]:
    """Whether each node is given a tensor of float32, and whether it is given a tensor."""
    floats: list[bool] = []
    tensors: list[bool] = []
    for number, node in enumerate(nodes):
        before = node.inputs[0] if node.inputs else number - 1
        floats.append(before >= 0 and (floats[before] or _makes_floats(nodes[before])))
        tensor = before >= 0 and (tensors[before] or _makes_tensors(nodes[before]))
        tensors.append(tensor or (before < 0 and of_tensors))
    return floats, tensors


def _makes_tensors(node: Node) -> bool:
    return node.op in _TO_TENSOR or node.args.get("library") == "torchvision.io"


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
        field = op == "elastic_transform"
        return float_bits.known(float_bits.FIELDS if field else float_bits.GRIDS, api)
    if args.get("operation") == "sharpness" and not blurring.sums_known(api):
        return False
    # A mean adds up in the order of the memory.
    mean = op == "color_jitter" and args.get("contrast") is not None
    return float_bits.known(float_bits.COLORS, api) and not (mean and turns)
