"""The nodes and fields of a data set's transform: one chain, or a graph of views."""

from dataclasses import dataclass, field, replace
from typing import Any

from ..native.collate import name_of
from ..native.kinds import kind_of
from ..native.plan import PURE, Field, Node, NotNative
from ..native.resizing import mark_floats
from ..native.structure import Structure, plain
from ..native.transforms import TO_TENSOR, nodes_of, nodes_of_leaf, nodes_of_steps
from .datasets import Rows
from .items import Items
from .views import SOURCE, Applied, Grounds, Known, Stack, Views, steps_or_views
from .views import Structure as Returned
from .views.opened import Opened

# Transforms that make tensors of arrays as they do of pictures with the same values.
_OF_ARRAYS = ("v1.ToTensor", "v2.ToTensor", "v2.ToImage")


@dataclass
class Computed:
    """What a plan says of a sample. `structure`: of the sample, with the fields' numbers."""

    nodes: list[Node]
    fields: list[Field]
    structure: Structure
    grounds: tuple[Grounds, ...] = field(default=(), compare=False)


def computed_of(rows: Rows) -> Computed:
    """REQUIRES: the rows have a source. Raises NotNative."""
    for dataset in rows.datasets:
        if not isinstance(dataset, Items) and dataset.target_transform is not None:
            raise NotNative(
                f"target_transform={name_of(dataset.target_transform)} is Python code",
                "change the labels in the dataset once, or in the training loop",
            )
    made = [
        _of_items(rows, dataset) if isinstance(dataset, Items) else _of_one(rows, dataset.transform)
        for dataset in rows.datasets
    ]
    if any(one != made[0] for one in made):
        raise NotNative(
            "the datasets of a ConcatDataset have different transforms",
            "give each transform a loader of its own",
        )
    grounds = tuple(seen for one in made for seen in one.grounds)
    return replace(made[0], grounds=(*rows.grounds, *grounds))


def _of_one(rows: Rows, transform: Any) -> Computed:
    makes_tensors = rows.source[-1].op in TO_TENSOR
    if transform is None and makes_tensors:
        return _chain(rows, [])
    if transform is None:
        return _chain(rows, nodes_of(transform))
    steps, seen = steps_or_views(transform)
    grounds = () if seen is None else (seen,)
    if rows.opened is not None:
        return _of_array(rows, rows.opened, transform, steps, (*grounds, rows.opened.seen))
    if isinstance(steps, Views):
        return _graph(rows, steps, grounds)
    return _chain(rows, nodes_of_steps(transform, steps, makes_tensors), grounds)


def _chain(rows: Rows, nodes: list[Node], grounds: tuple[Grounds, ...] = ()) -> Computed:
    return Computed([*rows.source, *nodes], rows.fields, plain(len(rows.fields)), grounds)


def _of_array(
    rows: Rows, opened: Opened, transform: Any, steps: Any, grounds: tuple[Grounds, ...]
) -> Computed:
    """Of an array, which torchvision's transforms of PIL images refuse."""
    if isinstance(steps, Views):
        raise NotNative(f"{name_of(transform)} makes several views of an array")
    if not steps or kind_of(steps[0]) not in _OF_ARRAYS:
        first = name_of(steps[0] if steps else transform)
        raise NotNative(
            f"{first} is applied to an array that cv2 made",
            "ToTensor, or v2.ToImage, as the first transform",
        )
    nodes = [*(call.node for call in opened.calls), *nodes_of_steps(transform, steps)]
    return _chain(rows, nodes, grounds)


def _of_items(rows: Rows, items: Items) -> Computed:
    """Of a data set of the program's own."""
    nodes, node_of_value = _nodes(rows.source, items.values)
    fields: list[Field] = []
    structure = _number(items.result, node_of_value, fields, nodes)
    values = [made for made in fields if made.kind == "value"]
    if (
        len(values) == 1
        and not any(node.inputs for node in nodes)
        and nodes[-1].op != "stack"
        and (values[0].index == len(nodes) - 1)
    ):
        values[0].kind, values[0].index = "chain", 0
    return Computed(nodes, fields, structure, (items.seen,))


def _graph(rows: Rows, views: Views, grounds: tuple[Grounds, ...]) -> Computed:
    nodes, node_of_value = _nodes(rows.source, views.values)
    fields: list[Field] = []
    result = _number(views.result, node_of_value, fields, nodes)
    others = range(len(fields), len(fields) + len(rows.fields) - 1)
    fields += rows.fields[1:]
    return Computed(nodes, fields, (result, *others), grounds)


def _nodes(source: list[Node], values: tuple[Applied, ...]) -> tuple[list[Node], dict[int, int]]:
    """Values become nodes in the program's order. What is pure and computed twice of the same value
    is one node."""
    nodes = list(source)
    node_of_value = {SOURCE: len(source) - 1}
    pure: dict[tuple[int, str], int] = {}
    for number, value in enumerate(values):
        last = node_of_value[value.of]
        for transform in value.transforms:
            first, *governed = _nodes_of(transform)
            key = last, repr((first.op, first.args))
            if first.purity == PURE and key in pure:
                last = pure[key]
                continue
            first.inputs = [] if last == len(nodes) - 1 else [last]
            nodes += [first, *governed]
            last = len(nodes) - 1
            if not governed:
                pure[key] = last
        node_of_value[number] = last
    mark_floats(nodes)
    return nodes, node_of_value


def _nodes_of(transform: Any) -> list[Node]:
    # A node is used once; one call may be on several ways.
    return [replace(transform.node)] if type(transform) is Known else nodes_of_leaf(transform)


def _number(
    result: Returned, node_of: dict[int, int], fields: list[Field], nodes: list[Node]
) -> Structure:
    """The structure with a field for each place, since a batch holds each in memory of its own. A
    stack is a node more."""
    if isinstance(result, Stack):
        inputs = [node_of[value] for value in result.of]
        if inputs == [len(nodes) - 1]:
            inputs = []
        nodes.append(Node("stack", label="torch.stack", inputs=inputs))
        fields.append(Field("value", len(nodes) - 1))
        return len(fields) - 1
    if isinstance(result, int):
        label = Field("array", -result)  # the first one is column 1
        fields.append(Field("value", node_of[result]) if result >= 0 else label)
        return len(fields) - 1
    if isinstance(result, dict):
        return {key: _number(part, node_of, fields, nodes) for key, part in result.items()}
    parts = [_number(part, node_of, fields, nodes) for part in result]
    return tuple(parts) if isinstance(result, tuple) else parts
