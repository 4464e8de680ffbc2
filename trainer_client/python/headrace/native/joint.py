"""What a transform of torchvision's v2 does to several pictures at once: which of them it takes, and the
nodes of each. A picture and its mask share what is drawn.

Source: torchvision/transforms/v2/_transform.py, and the kernels of v2/functional for each type.
"""

import copy
from dataclasses import replace
from typing import Any

import torch

from ..records import dataclass
from .collate import name_of
from .gates import GATES, gate_of
from .kinds import MODULES, check_unaltered, kind_of
from .nodes import leaves_of, nodes_of_leaf
from .plan import Node, NotNative

PIL, PURE, IMAGE, MASK = "a PIL image", "a tensor", "tv_tensors.Image", "tv_tensors.Mask"
INDEX = "index"  # the mode of a picture as its file has it: gray, or with a palette


@dataclass(frozen=True)
class Sort:
    """What a picture is to torchvision. `mode`: of the PIL image that it is or was made of; empty: it
    is not known. `flat`: a tensor of height and width alone; in the plan it has a channel until it is
    returned."""

    kind: str
    mode: str = ""
    flat: bool = False


# What each takes, where it does not take all. Source: _transformed_types of the classes.
_TAKES = {
    "v2.PILToTensor": (PIL,),
    "v2.ToTensor": (PIL,),
    "v2.ToImage": (PURE, PIL),
    "v2.ToDtype": (PURE, IMAGE, MASK),
    "v2.ToPureTensor": (IMAGE, MASK),
}
_BECOMES = {
    **{f"{api}.{name}": PURE for api in MODULES for name in ("PILToTensor", "ToTensor")},
    "timm.MaybePILToTensor": PURE,
    "timm.MaybeToTensor": PURE,
    "v2.ToImage": IMAGE,
    "v2.ToPureTensor": PURE,
}
# Their functions have no kernel for masks, which they hand on.
_NOT_OF_MASKS = frozenset(
    f"v2.{name}"
    for name in (
        "ColorJitter", "GaussianBlur", "Grayscale", "Normalize", "RandomAdjustSharpness",
        "RandomAutocontrast", "RandomEqualize", "RandomGrayscale", "RandomInvert", "RandomPosterize",
        "RandomSolarize",
    )
)  # fmt: skip
_DRAW_NOTHING = ("v2.Grayscale", "v2.Normalize")
_OF_MASKS = frozenset(
    f"v2.{name}"
    for name in (
        "CenterCrop", "ConvertImageDtype", "ElasticTransform", "Identity", "Pad", "RandomAffine", "RandomCrop",
        "RandomHorizontalFlip", "RandomPerspective", "RandomResize",
        "RandomResizedCrop", "RandomRotation", "RandomShortestSize", "RandomVerticalFlip", "RandomZoomOut",
        "Resize", "ScaleJitter", "ToDtype", "ToPureTensor",
    )
) | frozenset(_TAKES)  # fmt: skip
# v1 and v2. With a palette and without, PIL makes the same bytes.
_OF_INDICES = frozenset((
    "CenterCrop", "Identity", "PILToTensor", "Pad", "RandomAffine", "RandomCrop", "RandomHorizontalFlip",
    "RandomPerspective", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize",
    "RandomVerticalFlip", "RandomZoomOut", "Resize", "ScaleJitter", "ToDtype", "ToImage", "ToPureTensor", "ToTensor",
))  # fmt: skip
_NEAREST_EXACT = "nearest-exact"


def is_of_kinds(transform: Any) -> bool:
    """Whether its arguments differ between kinds of inputs."""
    return any(type(vars(transform).get(of)) is dict for of in ("fill", "dtype"))


def nodes_of_each(transform: Any, sorts: list[Sort]) -> list[list[Node]]:
    """The nodes of one call for each of the pictures that it is given, in their order. Empty: the
    call hands that picture on. Nodes at the same place that draw share what they draw. Raises
    NotNative."""
    kind = kind_of(transform) or ""
    if kind in GATES:
        return _gated(transform, kind, sorts)
    taken = taken_of(transform, sorts)
    _check(transform, kind, sorts, taken)
    return [
        nodes_of_one(transform, sort) if takes else []
        for sort, takes in zip(sorts, taken, strict=True)
    ]


def nodes_of_one(transform: Any, sort: Sort) -> list[Node]:
    """The nodes of a single transform that takes this picture."""
    kind = kind_of(transform) or ""
    if sort.kind == MASK:
        if kind in _NOT_OF_MASKS:
            return []
        if kind not in _OF_MASKS:
            raise NotNative(
                f"{name_of(transform)} is given a mask, and has no native form of masks"
            )
    check_unaltered(transform)
    if kind == "v2.ToDtype":
        return [replace(node, kind=kind) for node in _to_dtype(transform, sort)]
    if kind == "v2.ConvertImageDtype" and sort.kind == MASK:
        return as_dtype(transform, transform.dtype, 0)
    nodes = nodes_of_leaf(_for_sort(transform, sort))
    check_pil(nodes, sort, transform)
    for node in nodes:
        node.label = repr(transform)
    return nodes


def becomes(transform: Any, sort: Sort) -> Sort:
    """What a picture is after a transform that takes it."""
    kind = kind_of(transform) or ""
    if kind in GATES:
        parts = [leaf for part in transform.transforms for leaf in leaves_of(part)]
        same = all(becomes(leaf, sort) == sort for leaf in parts)
        return sort if same else Sort(sort.kind, flat=sort.flat)
    mode = "" if kind.endswith(".Grayscale") else sort.mode
    made = _BECOMES.get(kind, sort.kind)
    kept = kind == "v2.ToPureTensor" and sort.kind == PIL
    return Sort(sort.kind if kept else made, mode, sort.flat)


def check_pil(nodes: list[Node], sort: Sort, transform: Any) -> None:
    """Raises NotNative where PIL makes other bytes of a picture with a palette than of a gray one."""
    if sort.kind != PIL or sort.mode != INDEX:
        return
    called = name_of(transform)
    name = type(transform).__name__
    if name not in _OF_INDICES and kind_of(transform) not in GATES:
        raise NotNative(
            f"{called} is applied to a picture that may have a palette",
            'Image.open(path).convert("L"), or tv_tensors.Mask(mask)',
        )
    for node in nodes:
        if node.args.get("interpolation", "nearest") != "nearest":
            raise NotNative(
                f"{called} resamples a picture that may have a palette, of which PIL takes the "
                "nearest pixels",
                'interpolation=InterpolationMode.NEAREST, .convert("L"), or tv_tensors.Mask(mask)',
            )
        if type(node.args.get("fill")) is list:
            raise NotNative(f"{called} has several fills for a picture that may have a palette")


def taken_of(transform: Any, sorts: list[Sort]) -> list[bool]:
    """Source: Transform._needs_transform_list."""
    takes = _TAKES.get(kind_of(transform) or "", (PIL, PURE, IMAGE, MASK))
    first_tensor = not any(sort.kind in (PIL, IMAGE) for sort in sorts)
    found = []
    for sort in sorts:
        taken = sort.kind in takes
        if taken and sort.kind == PURE:
            taken, first_tensor = first_tensor, False
        found.append(taken)
    return found


def _check(transform: Any, kind: str, sorts: list[Sort], taken: list[bool]) -> None:
    """Raises NotNative for what torchvision refuses or warns of, and what depends on more than the
    height and the width of the pictures."""
    called = name_of(transform)
    if any(sort.flat and sort.kind != MASK for sort in sorts):
        raise NotNative(f"{called} is given a tensor without channels that is no mask")
    if not all(sort.kind for sort in sorts):
        raise NotNative(f"{called} is given several pictures whose types are not known")
    if kind == "v2.Normalize" and any(sort.kind == PIL for sort in sorts):
        raise NotNative(f"{called} is given a PIL image, which it refuses")
    pictures = [
        sort for sort, takes in zip(sorts, taken, strict=True) if takes and sort.kind != MASK
    ]
    if not pictures and kind in _NOT_OF_MASKS and kind not in _DRAW_NOTHING:
        raise NotNative(f"{called} is given a mask alone, for which it draws")
    if len(pictures) > 1:
        if kind not in _OF_MASKS | _NOT_OF_MASKS:
            raise NotNative(f"{called} has no native form of several pictures")
        if kind == "v2.RandomGrayscale" and len({sort.mode for sort in pictures} | {"RGB"}) > 1:
            raise NotNative(f"{called} is given pictures of different channels")


def _gated(transform: Any, kind: str, sorts: list[Sort]) -> list[list[Node]]:
    """Each picture has the gate, with a node for each of the others' nodes."""
    check_unaltered(transform)
    if type(transform.transforms) not in (list, tuple, torch.nn.ModuleList):
        raise NotNative(f"{name_of(transform)} holds its transforms in an unknown kind of list")
    made: list[list[Node]] = [[] for _ in sorts]
    used = [False] * len(sorts)
    counts = []
    for part in transform.transforms:
        before = len(made[0])
        for leaf in leaves_of(part):
            if not (kind_of(leaf) or "").startswith("v2."):
                raise NotNative(f"{name_of(leaf)} is given several pictures")
            if (kind_of(leaf) or "") in _BECOMES:
                raise NotNative(f"{name_of(leaf)} is not always applied, and makes another type")
            each = nodes_of_each(leaf, sorts)
            longest = max(1, *map(len, each))
            for number, nodes in enumerate(each):
                if nodes and len(nodes) != longest:
                    raise NotNative(f"{name_of(leaf)} differs between the pictures")
                used[number] |= bool(nodes)
                idle = [Node("identity", label=repr(leaf)) for _ in range(longest)]
                made[number] += nodes or idle
        counts.append(len(made[0]) - before)
    if not any(used):  # it draws all the same
        raise NotNative(f"{name_of(transform)} does nothing to what it is given, but draws")
    return [
        [gate_of(transform, counts), *nodes] if is_used else []
        for nodes, is_used in zip(made, used, strict=True)
    ]


def _to_dtype(transform: Any, sort: Sort) -> list[Node]:
    """Source: ToDtype.transform."""
    if sort.kind == PIL:
        return []
    wanted = transform.dtype
    if isinstance(wanted, torch.dtype):
        if sort.kind == MASK:
            return []
    else:
        wanted = _by_type(transform, "dtype", wanted, sort)
        if wanted is None:
            if transform.scale and sort.kind != MASK:
                raise NotNative(f"{name_of(transform)} warns that it does not scale")
            return []
    return as_dtype(transform, wanted, 0 if sort.kind == MASK else int(bool(transform.scale)))


def as_dtype(transform: Any, dtype: Any, scale: int) -> list[Node]:
    """The node of a cast. Raises NotNative."""
    if not isinstance(dtype, torch.dtype):
        raise NotNative(f"dtype={dtype!r} has no native form")
    args = {"dtype": str(dtype).removeprefix("torch."), "scale": scale, "api": 2}
    return [Node("to_dtype", args, label=repr(transform))]


def _by_type(transform: Any, of: str, table: dict[Any, Any], sort: Sort) -> Any:
    """The entry for a picture's exact type."""
    import torchvision.tv_tensors as tv  # which the program has imported

    if type(table) is not dict:
        raise NotNative(f"{name_of(transform)} has {of}={table!r}")
    cls = {PURE: torch.Tensor, IMAGE: tv.Image, MASK: tv.Mask}.get(sort.kind)
    others = {torch.Tensor, tv.Image, tv.Mask, tv.Video, tv.BoundingBoxes, tv.KeyPoints, "others"}
    if cls is None and not set(table) <= others:
        raise NotNative(f"{name_of(transform)} has {of}={table!r}, by a class of PIL's")
    if cls in table:
        return table[cls]
    if "others" not in table:
        raise NotNative(
            f"{name_of(transform)} has {of}={table!r}, which has no entry for {sort.kind}"
        )
    return table["others"]


def _for_sort(transform: Any, sort: Sort) -> Any:
    """The transform as it is for this picture alone."""
    held = vars(transform)
    is_mask = sort.kind == MASK
    if not is_mask and type(held.get("fill")) is not dict:
        return transform
    made = copy.copy(transform)
    if "_fill" in held:
        fill = _by_type(transform, "fill", held["_fill"], sort)
        if is_mask and isinstance(fill, list | tuple):
            raise NotNative(f"{name_of(transform)} has several fills for a mask")
        vars(made)["fill"], vars(made)["_fill"] = fill, {"others": fill}
    if is_mask and "interpolation" in held:
        asked = held["interpolation"]
        if _NEAREST_EXACT in (asked, getattr(asked, "value", "")):
            raise NotNative(
                f"{name_of(transform)} is given a mask and nearest-exact, which releases of "
                "torchvision take differently",
                "InterpolationMode.NEAREST",
            )
        vars(made)["interpolation"] = "nearest"
    return made
