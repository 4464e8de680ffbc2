"""torchvision's v1 and v2 transforms, and timm's, as operator nodes.

Exact types only, and only objects that nobody has altered: a subclass, a hook or a method replaced
on the object may do anything. Whether an operator takes these arguments, and in this place of the
chain, is the operators' own business (Chain::Compile).
"""

import functools
from collections.abc import Callable
from typing import Any

import torch

from . import augment, blurring, elastic, float_nodes, resizing, several, timm
from .arguments import dtype, floats, interpolation, ints, log_ratio, probability
from .collate import name_of
from .gates import GATES, gate_of
from .kinds import CONTAINERS, MODULES, check_unaltered, kind_of
from .plan import PURE, RANDOM, Node, NotNative
from .wrappers import held_by

TO_TENSOR = frozenset(("to_tensor", "pil_to_tensor", "to_image"))
_TO_TENSORS = "end the transform with one that makes tensors, ToTensor or PILToTensor for example"


def nodes_of(transform: Any) -> list[Node]:
    """The chain of a dataset's `transform`. Raises NotNative with the transform's name."""
    if transform is None:
        raise NotNative(
            "without a transform the dataset yields PIL images, not tensors", _TO_TENSORS
        )
    return nodes_of_steps(transform, leaves_of(transform))


def nodes_of_steps(transform: Any, steps: list[Any], of_tensors: bool = False) -> list[Node]:
    """The same, of a transform that is known to apply these single ones in turn. `of_tensors`: what
    it is given is a tensor already."""
    nodes = [node for step in steps for node in nodes_of_leaf(step)]
    if not of_tensors and not any(node.op in TO_TENSOR for node in nodes):
        raise NotNative(f"{name_of(transform)} yields PIL images, not tensors", _TO_TENSORS)
    float_nodes.mark_tensors(nodes, of_tensors)
    return nodes


def leaves_of(transform: Any) -> list[Any]:
    """The single transforms in the order in which they are applied; containers are opened."""
    kind = kind_of(transform)
    if type(transform) is torch.nn.Sequential or kind in CONTAINERS:
        check_unaltered(transform)
        parts = list(transform) if kind is None else transform.transforms
        return [leaf for part in parts for leaf in leaves_of(part)]
    held = None if kind else held_by(transform)
    return [transform] if held is None else leaves_of(held)


def nodes_of_leaf(transform: Any) -> list[Node]:
    """The nodes of a single transform: one, or a gate and the nodes that it governs. Raises
    NotNative with the name of the part that has none."""
    if kind_of(transform) not in GATES:
        return [node_of(transform)]
    check_unaltered(transform)
    if type(transform.transforms) not in (list, tuple, torch.nn.ModuleList):
        raise NotNative(f"{name_of(transform)} holds its transforms in an unknown kind of list")
    parts = [
        [node for leaf in leaves_of(part) for node in nodes_of_leaf(leaf)]
        for part in transform.transforms
    ]
    nodes = [node for part in parts for node in part]
    return [gate_of(transform, [len(part) for part in parts]), *nodes]


def node_of(transform: Any) -> Node:
    """The node of a single transform that is no gate. Raises NotNative with its name."""
    if type(transform) in (several.Part, several.Flipped):
        check_unaltered(transform.of)
        return several.node(transform, ints(transform.of.size))
    kind = kind_of(transform)
    if type(transform) is torch.nn.Identity:
        kind = "v2.Identity"
    convert = _TABLE.get(kind or "")
    if convert is None:
        raise NotNative(
            f"{name_of(transform)} has no native form",
            "a native transform of docs/reference/transforms.md in its place, unless it must be this one",
        )
    check_unaltered(transform)
    node = convert(transform)
    node.label, node.kind = repr(transform), kind or ""
    if node.op in _API_MATTERS:
        node.args["api"] = 1 if kind and kind.startswith("v1") else 2
    node.args = {name: value for name, value in node.args.items() if value is not None}
    return node


def _resize(t: Any, api: str) -> Node:
    return Node("resize", {"size": ints(t.size), "max_size": t.max_size, **_resizing(t, api)})


def _resizing(t: Any, api: str) -> dict[str, Any]:
    return resizing.arguments(t, int(api[1]), interpolation(t.interpolation))


def _center_crop(t: Any) -> Node:
    return Node("center_crop", {"size": ints(t.size)})


def _random_resized_crop(t: Any, api: str) -> Node:
    return Node(
        "random_resized_crop",
        {
            "size": ints(t.size),
            "scale": floats(t.scale),
            "ratio": floats(t.ratio),
            "log_ratio": log_ratio(t.ratio),
            **_resizing(t, api),
        },
        RANDOM,
    )


def _random_resize(t: Any) -> Node:
    if type(t.min_size) is not int or type(t.max_size) is not int:
        raise NotNative(f"RandomResize has lengths {t.min_size!r} and {t.max_size!r}")
    sizes = {"min_size": t.min_size, "max_size": t.max_size}
    return Node("random_resize", {**sizes, **_resizing(t, "v2")}, RANDOM)


def _random_shortest_size(t: Any) -> Node:
    if any(type(length) is not int for length in t.min_size):
        raise NotNative(f"RandomShortestSize has lengths {t.min_size!r}")
    if t.max_size is not None and type(t.max_size) is not int:
        raise NotNative(f"RandomShortestSize has max_size={t.max_size!r}")
    sizes = {"min_size": list(t.min_size), "max_size": t.max_size}
    return Node("random_shortest_size", {**sizes, **_resizing(t, "v2")}, RANDOM)


def _scale_jitter(t: Any) -> Node:
    if len(t.target_size) != 2 or any(type(side) is not int for side in t.target_size):
        raise NotNative(f"ScaleJitter has target_size={t.target_size!r}")
    target = {"target_size": list(t.target_size), "scale_range": floats(t.scale_range)}
    return Node("scale_jitter", {**target, **_resizing(t, "v2")}, RANDOM)


def _random_zoom_out(t: Any) -> Node:
    if isinstance(t.fill, dict):
        raise NotNative(f"fill={t.fill!r} has no native form")
    args = {"p": probability(t), "side_range": floats(t.side_range), "fill": floats(t.fill)}
    return Node("random_zoom_out", args, RANDOM)


def _random_crop(t: Any) -> Node:
    size = {"size": ints(t.size), "pad_if_needed": int(t.pad_if_needed)}
    return Node("random_crop", {**size, **_padding(t)}, RANDOM)


def _random_crop_v2(t: Any) -> Node:
    node = _random_crop(t)
    if t.padding is not None:  # kept in another order than it is given
        left, right, top, bottom = node.args["padding"]
        node.args["padding"] = [left, top, right, bottom]
    return node


def _padding(t: Any) -> dict[str, Any]:
    if isinstance(t.fill, dict):
        raise NotNative(f"fill={t.fill!r} has no native form")
    mode = getattr(t.padding_mode, "value", t.padding_mode)
    return {"padding": ints(t.padding), "fill": floats(t.fill), "padding_mode": mode}


def _color_jitter(t: Any) -> Node:
    return Node(
        "color_jitter",
        {
            "brightness": floats(t.brightness),
            "contrast": floats(t.contrast),
            "saturation": floats(t.saturation),
            "hue": floats(t.hue),
        },
        RANDOM,
    )


def _random_erasing(t: Any) -> Node:
    value = t.value
    if value is None or isinstance(value, str):  # v2 keeps "random" as None
        raise NotNative("RandomErasing(value='random') has no native form")
    return Node(
        "random_erasing",
        {
            "p": probability(t),
            "scale": floats(t.scale),
            "ratio": floats(t.ratio),
            "log_ratio": log_ratio(t.ratio),
            "value": floats(value),
            "inplace": int(t.inplace),
        },
        RANDOM,
    )


def _random_rotation(t: Any, api: str, named: dict[str, Any]) -> Node:
    args = {
        "degrees": floats(t.degrees),
        "expand": int(bool(t.expand)),
        **_center(t),
    }
    return Node("random_rotation", {**args, **named}, RANDOM)


def _random_affine(t: Any, api: str, named: dict[str, Any]) -> Node:
    args = {name: floats(getattr(t, name)) for name in ("degrees", "translate", "scale", "shear")}
    return Node("random_affine", {**args, **_center(t), **named}, RANDOM)


def _random_perspective(t: Any, api: str, named: dict[str, Any]) -> Node:
    scale = t.distortion_scale
    if type(scale) not in (int, float):
        raise NotNative(f"distortion_scale={scale!r} has no native form")
    args = {"distortion_scale": float(scale), "p": probability(t)}
    return Node("random_perspective", {**args, **named}, RANDOM)


def _center(t: Any) -> dict[str, Any]:
    """The arguments with the setting that says how torch makes grids of tensors, and so whether
    they are native too."""
    if t.center is not None and not isinstance(t.center, list | tuple):
        raise NotNative(f"center={t.center!r} has no native form")
    return {"center": floats(t.center), "tensor_grids": augment.matrix_products()}


def _random_operation(operation: str, attribute: str = "") -> Callable[[Any], Node]:
    def convert(t: Any) -> Node:
        value = getattr(t, attribute) if attribute else None
        whole = operation == "posterize"
        if attribute and (type(value) is not int and (whole or type(value) is not float)):
            raise NotNative(f"{attribute}={value!r} has no native form")
        args = {"operation": operation, "p": probability(t), "value": floats(value)}
        return Node("random_operation", args, RANDOM)

    return convert


def _transformed(api: str, make: Callable[..., Node]) -> Callable[[Any], Node]:
    """Adds the arguments `interpolation` and `fill`, which these transforms share."""

    def convert(t: Any) -> Node:
        if api == "v1" and type(t.interpolation) is str:
            raise NotNative(f"interpolation={t.interpolation!r} has no native form")
        if not isinstance(t.fill, int | float | list | tuple | None):
            raise NotNative(f"fill={t.fill!r} has no native form")
        fill = t.fill if api == "v1" else t._fill["others"]
        return make(t, api, {"interpolation": interpolation(t.interpolation), "fill": floats(fill)})

    return convert


def _normalize(t: Any) -> Node:
    return Node(
        "normalize",
        {"mean": floats(t.mean), "std": floats(t.std), "inplace": int(t.inplace)},
    )


def _grayscale(t: Any) -> Node:
    return Node("grayscale", {"num_output_channels": t.num_output_channels})


def _with_p(op: str) -> Callable[[Any], Node]:
    return lambda t: Node(op, {"p": probability(t)}, RANDOM)


def _plain(op: str) -> Callable[[Any], Node]:
    return lambda t: Node(op, {}, PURE)


_BOTH: dict[str, Callable[[Any], Node]] = {
    "CenterCrop": _center_crop,
    "RandomCrop": _random_crop,
    "Pad": lambda t: Node("pad", _padding(t)),
    "RandomGrayscale": _with_p("random_grayscale"),
    "RandomHorizontalFlip": _with_p("random_horizontal_flip"),
    "RandomVerticalFlip": _with_p("random_vertical_flip"),
    "ColorJitter": _color_jitter,
    "Grayscale": _grayscale,
    "RandomErasing": _random_erasing,
    "ToTensor": _plain("to_tensor"),
    "PILToTensor": _plain("pil_to_tensor"),
    "ConvertImageDtype": lambda t: Node("to_dtype", {"dtype": dtype(t.dtype), "scale": 1}),
    "Normalize": _normalize,
    "RandomInvert": _random_operation("invert"),
    "RandomPosterize": _random_operation("posterize", "bits"),
    "RandomSolarize": _random_operation("solarize", "threshold"),
    "RandomAdjustSharpness": _random_operation("sharpness", "sharpness_factor"),
    "RandomAutocontrast": _random_operation("autocontrast"),
    "RandomEqualize": _random_operation("equalize"),
}
_TRANSFORMED: dict[str, Callable[..., Node]] = {
    "TrivialAugmentWide": augment.trivial_augment_wide,
    "RandAugment": augment.rand_augment,
    "AutoAugment": augment.auto_augment,
    "AugMix": augment.aug_mix,
    "RandomRotation": _random_rotation,
    "RandomAffine": _random_affine,
    "RandomPerspective": _random_perspective,
    "ElasticTransform": elastic.elastic_transform,
}
_BY_API: dict[str, Callable[..., Node]] = {
    "Resize": _resize,
    "RandomResizedCrop": _random_resized_crop,
    "GaussianBlur": blurring.gaussian_blur,
}
_TABLE: dict[str, Callable[[Any], Node]] = {
    **{f"{api}.{name}": convert for api in MODULES for name, convert in _BOTH.items()},
    **{
        f"{api}.{name}": _transformed(api, make)
        for api in MODULES
        for name, make in _TRANSFORMED.items()
    },
    **{
        f"{api}.{name}": functools.partial(make, api=api)
        for api in MODULES
        for name, make in _BY_API.items()
    },
    "v2.RandomCrop": _random_crop_v2,
    "v2.RandomResize": _random_resize,
    "v2.RandomShortestSize": _random_shortest_size,
    "v2.RandomZoomOut": _random_zoom_out,
    "v2.ScaleJitter": _scale_jitter,
    "v2.ToImage": _plain("to_image"),
    "v2.ToDtype": lambda t: Node(
        "to_dtype", {"dtype": dtype(t.dtype), "scale": int(bool(t.scale))}
    ),
    "v2.Identity": _plain("identity"),
    "v2.ToPureTensor": _plain("identity"),
    **timm.TABLE,
}
# v1 and v2 of these compute differently.
_API_MATTERS = {
    "to_dtype", "random_crop", "trivial_augment_wide", "rand_augment", "auto_augment", "aug_mix",
    "random_operation", "random_affine", "random_rotation", "color_jitter", "grayscale",
    "random_grayscale", "resize", "random_resized_crop", "pad", "gaussian_blur",
    "random_resize", "random_shortest_size", "scale_jitter", "elastic_transform",
}  # fmt: skip
