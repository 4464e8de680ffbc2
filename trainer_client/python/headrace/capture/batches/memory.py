"""What a program sees of a sample's tensor that is not stacked: its strides and its class."""

from dataclasses import replace

from ...native.batch_form import Rows
from ...native.plan import Node, NotNative
from ...native.transforms import TO_TENSOR

# By the class that makes a tensor of a PIL image. The others give torch the picture's own memory.
_MADE = {
    "v1.ToTensor": Rows(),
    "v2.ToTensor": Rows(),
    "v1.PILToTensor": Rows(channels_last=True),
    "v2.PILToTensor": Rows(channels_last=True),
    "v2.ToImage": Rows(channels_last=True, image=True),
}
# They compute element by element, or write to a copy: torch keeps the order of the memory.
_KEEP = frozenset(
    f"{api}.{name}"
    for api in ("v1", "v2")
    for name in (
        "ConvertImageDtype", "Identity", "Normalize", "RandomErasing", "RandomHorizontalFlip",
        "RandomVerticalFlip", "ToDtype",
    )
)  # fmt: skip
# torchvision asks torch for the order of the memory that the tensor has.
_KEEP_LAST = frozenset(("v2.Resize", "v2.RandomResize", "v2.RandomShortestSize", "v2.ScaleJitter"))
_REMEDY = (
    "transforms of PIL images, then ToTensor, PILToTensor or v2.ToImage, then ToDtype and Normalize"
)


def rows_of_value(nodes: list[Node], last: int) -> Rows:
    """Of the value of node `last`. Raises NotNative where it is not known."""
    way = _way_to(nodes, last)
    if not way:  # torch.stack of a sample's tensors
        return Rows()
    source = way[0]
    if source.op not in ("decode", "from_array") or "library" in source.args:
        raise _unknown(source)
    made: Rows | None = None
    for node in way:
        if node.op in TO_TENSOR and made is None:
            made = _MADE.get(node.kind)
            if made is None:
                raise _unknown(node)
        elif made is not None:
            made = _after(made, node)
    assert made is not None  # capture refuses what yields pictures
    return made


def rows_to_copy(nodes: list[Node], last: int) -> Rows:
    """The same of a value that is copied alone: its class. Admission looks at that again."""
    image = False
    for node in _way_to(nodes, last):
        if node.kind == "v2.ToImage":
            image = True
        elif node.kind == "v2.ToPureTensor" or node.op == "squeeze":
            image = False
    return Rows(image=image)


def rank_of_value(nodes: list[Node], last: int) -> int:
    """The number of dimensions of the value of node `last`."""
    return {"stack": 4, "squeeze": 2}.get(nodes[last].op, 3)


def _after(made: Rows, node: Node) -> Rows:
    if node.op == "squeeze":  # of one channel: no order is left
        return Rows()
    if node.op == "to_dtype" and not node.kind and not made.image:  # a method, as .long()
        return made
    if node.kind == "v2.ToImage":
        return replace(made, image=True)
    if node.kind == "v2.ToPureTensor":
        return replace(made, image=False)
    if node.kind in _KEEP_LAST and made.channels_last:
        return made
    if node.kind not in _KEEP or (made.image and node.kind.startswith("v1.")):
        raise _unknown(node)
    return made


def _way_to(nodes: list[Node], last: int) -> list[Node]:
    """Empty: it is a stack."""
    way: list[Node] = []
    while last >= 0:
        node = nodes[last]
        if node.op == "stack":
            return []
        way.append(node)
        last = node.inputs[0] if node.inputs else last - 1
    return way[::-1]


def _unknown(node: Node) -> NotNative:
    return NotNative(
        f"{node.label} in front of a collate_fn that does not stack: the tensor's memory is not known",
        _REMEDY,
    )
