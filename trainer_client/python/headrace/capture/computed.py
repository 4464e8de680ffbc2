"""The nodes and fields of a data set's transform: one chain, or a graph of views."""

from dataclasses import field, replace
from typing import Any

from ..native.batch_form import BatchForm, Rows
from ..native.collate import name_of
from ..native.float_nodes import mark_tensors
from ..native.kinds import kind_of
from ..native.plan import PURE, Field, Node, NotNative, labels_in
from ..native.structure import Structure, fields_of, plain
from ..native.targets import Targets
from ..native.transforms import TO_TENSOR, nodes_of, nodes_of_leaf, nodes_of_steps
from ..records import dataclass
from .batches import form_of, rank_of_value, rows_of_value, rows_to_copy
from .datasets import Rows as SourceRows
from .datasets import decode_nodes
from .items import Items
from .views import (
    SOURCE,
    Applied,
    Grounds,
    Known,
    Stack,
    Target,
    Together,
    Views,
    steps_or_views,
)
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
    targets: Targets | None = None  # the fields after those of the plan


def computed_of(rows: SourceRows) -> Computed:
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
    if len(made) > 1 and any(one.targets is not None for one in made):
        raise NotNative(
            "the datasets of a ConcatDataset return more than pictures and integers",
            "give each dataset a loader of its own",
        )
    if any(one != made[0] for one in made):
        raise NotNative(
            "the datasets of a ConcatDataset have different transforms",
            "give each transform a loader of its own",
        )
    grounds = tuple(seen for one in made for seen in one.grounds)
    return replace(made[0], grounds=(*rows.grounds, *grounds))


def with_form(collate_fn: Any, made: Computed) -> tuple[Computed, BatchForm]:
    """With the lists of a collate_fn of the program's own, and what it makes of a batch. Raises
    NotNative."""
    labels = labels_in(made.fields)
    columns = [i for i, one in enumerate(made.fields) if one.kind == "array" and i not in labels]
    nodes = list(made.nodes)
    ranks = {
        i: rank_of_value(nodes, one.index if one.kind == "value" else len(nodes) - 1)
        for i, one in enumerate(made.fields)
        if one.kind != "array"
    }
    beside = range(len(made.fields), len(fields_of(made.structure)))
    shared = [beside[i] for i in made.targets.shared] if made.targets is not None else []
    collated = form_of(collate_fn, made.structure, labels, columns, ranks, beside, shared)
    fields = [
        replace(one, kind="value", index=len(nodes) - 1) if one.kind == "chain" else replace(one)
        for one in made.fields
    ]
    rows: dict[int, Rows] = {}
    for number in sorted(collated.lists):
        value = fields[number].index
        look = rows_to_copy if number in collated.copied else rows_of_value
        rows[number] = look(nodes, value)
        if rows[number].channels_last:
            inputs = [value] if value < len(nodes) - 1 else []
            nodes.append(Node("channels_last", label="the picture's memory", inputs=inputs))
            value = len(nodes) - 1
        fields[number] = Field("list", value)
    if not collated.lists:  # a plan of one chain keeps its bytes
        fields = made.fields
    grounds = (*made.grounds, collated.seen)
    computed = Computed(nodes, fields, made.structure, grounds, made.targets)
    return computed, BatchForm(collated.form, rows, collated.copied)


def _of_one(rows: SourceRows, transform: Any) -> Computed:
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


def _chain(rows: SourceRows, nodes: list[Node], grounds: tuple[Grounds, ...] = ()) -> Computed:
    return Computed([*rows.source, *nodes], rows.fields, plain(len(rows.fields)), grounds)


def _of_array(
    rows: SourceRows, opened: Opened, transform: Any, steps: Any, grounds: tuple[Grounds, ...]
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


def _of_items(rows: SourceRows, items: Items) -> Computed:
    """Of a data set of the program's own."""
    files = {
        SOURCE - file: decode_nodes(items.modes[file], items.libraries[file], file)
        for file in range(1, len(items.paths))
    }
    nodes, node_of_value = _nodes(rows.source, items.values, files)
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
    structure = _with_targets(structure, len(fields))
    return Computed(nodes, fields, structure, (items.seen,), items.targets)


def _with_targets(structure: Any, before: int) -> Structure:
    """The structure with the numbers of the trainer's fields, after the plan's `before`."""
    if isinstance(structure, Target):
        return before + structure.number
    if isinstance(structure, dict):
        return {key: _with_targets(part, before) for key, part in structure.items()}
    if isinstance(structure, int):
        return structure
    parts = [_with_targets(part, before) for part in structure]
    return tuple(parts) if isinstance(structure, tuple) else parts


def _graph(rows: SourceRows, views: Views, grounds: tuple[Grounds, ...]) -> Computed:
    nodes, node_of_value = _nodes(rows.source, views.values)
    fields: list[Field] = []
    result = _number(views.result, node_of_value, fields, nodes)
    others = range(len(fields), len(fields) + len(rows.fields) - 1)
    fields += rows.fields[1:]
    return Computed(nodes, fields, (result, *others), grounds)


def _nodes(
    source: list[Node], values: tuple[Applied, ...], files: dict[int, list[Node]] | None = None
) -> tuple[list[Node], dict[int, int]]:
    """Values become nodes in the program's order. What is pure and computed twice of the same value
    is one node. `files`: by a value's `of`, what reads that file beside the first."""
    nodes = list(source)
    node_of_value = {SOURCE: len(source) - 1}
    pure: dict[tuple[int, str], int] = {}
    calls: dict[int, int] = {}  # of several pictures: where the nodes of the first one stand
    for number, value in enumerate(values):
        if value.of not in node_of_value:
            nodes += (files or {})[value.of]
            node_of_value[value.of] = len(nodes) - 1
        last = node_of_value[value.of]
        for transform in value.transforms:
            first, *governed = made = _nodes_of(transform)
            if type(transform) is Together:
                _share_draws(nodes, made, calls.setdefault(transform.call, len(nodes)))
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
    mark_tensors(nodes)
    return nodes, node_of_value


def _nodes_of(transform: Any) -> list[Node]:
    # A node is used once; one call may be on several ways.
    if type(transform) is Together:
        call = transform.call
        return [replace(node, args=dict(node.args), call=call) for node in transform.nodes]
    return [replace(transform.node)] if type(transform) is Known else nodes_of_leaf(transform)


def _share_draws(nodes: list[Node], made: list[Node], first: int) -> None:
    """Lets the nodes that will stand at the end of `nodes` use the draws of those from `first` on,
    where these are not the same."""
    if first == len(nodes):
        return
    for at, node in enumerate(made):
        if node.purity == PURE:
            continue
        drawn = nodes[first + at]
        if drawn.op != node.op or drawn.purity == PURE:
            raise NotNative(f"{node.label} draws for a picture that is not the first")
        node.args["draws_of"] = first + at


def _number(
    result: Returned, node_of: dict[int, int], fields: list[Field], nodes: list[Node]
) -> Structure:
    """The structure with a field for each place, since a batch holds each in memory of its own. A
    stack is a node more."""
    if isinstance(result, Target):
        return result  # type: ignore[return-value]  # _with_targets numbers it
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
