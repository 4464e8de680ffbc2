"""What is known of transforms with a native form that follow each other (recipes.py): chains of operators, and what a
process has found out about these.

Some programs make their transforms anew for each sample. So this belongs to what transforms say, not to the objects.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ..native import binding
from ..native.libraries import libraries
from ..native.plan import Node, Plan
from ..native.torch_exp import torch_exp
from ..native.transforms import TO_TENSOR
from .finding import Finding
from .render import ImageMaker
from .tensor_order import nodes_of_file

# Ops whose draws decide whether their tensors have channels last in memory. Code that looks at the
# tensor, or adds its values up, could tell.
_ANY_ORDER = frozenset(
    ("auto_augment", "rand_augment", "random_grayscale", "random_resized_crop", "trivial_augment_wide")
)  # fmt: skip
# Where a chain begins: in a file, or in pixels of a mode of PIL's.
BEGINNINGS = FILE, RGB, L, TENSOR = "file", "RGB", "L", "tensor of a file"
_BEGINNINGS = {
    FILE: Node("decode", {"mode": "RGB"}),
    RGB: Node("from_array", {"mode": "RGB"}),
    L: Node("from_array", {"mode": "L"}),
}


class Like(NamedTuple):
    """Of what kind a result is."""

    kind: type
    channels_last: bool  # in memory

    @classmethod
    def of(cls, made: Any) -> "Like":
        return cls(type(made), isinstance(made, torch.Tensor) and made.stride(0) == 1)


class Known:
    """What was found out about a form, of one beginning: a picture of one channel is another tensor than one of three."""

    def __init__(self) -> None:
        self.checked = 0  # images that were made both ways
        self.like: Any = None  # Like, of what came out by Python


class Form:
    """Not thread-safe in what is learned."""

    def __init__(self, nodes: list[Node], maker: ImageMaker) -> None:
        self.nodes = nodes
        self.makes_tensor = any(node.op in TO_TENSOR for node in nodes)
        self.trusted = True  # no image that was made both ways differed
        self.by_beginning: dict[str, Known] = {}
        self._maker = maker
        self._chains: dict[str, Any] = {}

    def known(self, beginning: str) -> Known:
        return self.by_beginning.setdefault(beginning, Known())

    def know(self, beginning: str, finding: Finding) -> None:
        """Of another process."""
        self.trusted = self.trusted and finding.same
        known = self.known(beginning)
        known.checked, known.like = max(known.checked, finding.checked), finding.like

    def chain(self, beginning: str) -> Any:
        """headrace._images.Chain from that beginning; None: there is none."""
        if beginning not in self._chains:
            self._chains[beginning] = self._compiled(beginning)
        return self._chains[beginning]

    def _compiled(self, beginning: str) -> Any:
        if beginning == TENSOR:
            nodes = nodes_of_file(self.nodes)
        elif _order_is_drawn(self.nodes):
            nodes = None
        else:
            nodes = [_BEGINNINGS[beginning], *self.nodes]
        if nodes is None:
            return None
        plan = Plan(chain=nodes, libraries=libraries())
        try:
            table = torch_exp(plan)
        except (binding.UnsupportedError, ValueError):
            return None
        return self._maker.renderer.compile([(node.op, node.args) for node in nodes], table)


def _order_is_drawn(nodes: list[Node]) -> bool:
    """Whether the order of a tensor in memory depends on random numbers."""
    tensor = False
    for node in nodes:
        tensor = tensor or node.op in TO_TENSOR
        equalize = node.args.get("operation") == "equalize"
        if tensor and (node.op in _ANY_ORDER or equalize):
            return True
    return False


class Forms:
    """Those of one process, by what transforms say."""

    def __init__(self, maker: ImageMaker) -> None:
        self._maker = maker
        self._forms: dict[str, Form] = {}
        self._found: dict[tuple[str, str], Finding] = {}  # by other processes

    def of(self, leaves: list[Any], nodes: list[Node]) -> Form:
        """`leaves`: the transforms that these nodes stand for."""
        kinds = [type(leaf) for leaf in leaves]
        # The same in each process: what is found out about one is true of all.
        name = repr(
            (
                [(kind.__module__, kind.__qualname__) for kind in kinds],
                [(node.op, sorted(node.args.items())) for node in nodes],
            )
        )
        form = self._forms.get(name)
        if form is None:
            form = self._forms[name] = Form(nodes, self._maker)
            self._tell(name, form)
        return form

    def _tell(self, name: str, form: Form) -> None:
        for beginning in BEGINNINGS:
            if (finding := self._found.get((name, beginning))) is not None:
                form.know(beginning, finding)

    def know(self, found: dict[tuple[str, str], Finding]) -> None:
        """Takes what other processes have found out."""
        self._found = found
        for name, form in self._forms.items():
            self._tell(name, form)

    def found(self) -> Iterator[tuple[tuple[str, str], Finding]]:
        """What this process knows, by names and beginnings."""
        for name, form in self._forms.items():
            for beginning, known in form.by_beginning.items():
                if known.checked or not form.trusted:
                    yield (name, beginning), Finding(form.trusted, known.checked, known.like)
