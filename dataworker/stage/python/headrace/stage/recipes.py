"""What a torchvision transform does, as parts that a stage host can run natively.

    Run        transforms with a native form, one after the other: one chain of operators
    Choice     RandomApply, RandomChoice or RandomOrder: torchvision's own code decides, over parts
    Own        anything else: the object itself is called

Recognised by exact type, as a plan's transforms are (capture/transforms.py). An object that is altered
afterwards is noticed, and from then on does whatever it does; so is one whose class or functions the
program replaces, or hooks (capture/intact.py).
"""

import copy
import functools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import Sequential

from ..native.intact import ChainWatch
from ..native.kinds import CONTAINERS, check_unaltered, kind_of
from ..native.plan import Node
from ..native.transforms import node_of
from .run_forms import RGB, TENSOR, Form, Forms
from .timm_transforms import is_timms, timm_node

CHOICES = frozenset(
    f"{api}.{name}"
    for api in ("v1", "v2")
    for name in ("RandomApply", "RandomChoice", "RandomOrder")
)
# Deferred images note these by themselves, and PIL is quick at them.
_CHEAP = frozenset(
    (
        "center_crop", "identity", "random_horizontal_flip", "random_resized_crop",
        "random_vertical_flip", "resize",
    )
)  # fmt: skip
# Give the very image back unless they draw that they change it, whatever is in it.
_MAY_KEEP = frozenset(
    f"{api}.Random{name}"
    for api in ("v1", "v2")
    for name in (
        "AdjustSharpness", "Autocontrast", "Equalize", "Grayscale", "HorizontalFlip", "Invert",
        "Posterize", "Solarize", "VerticalFlip",
    )
)  # fmt: skip


class Run:
    """Of one recipe."""

    def __init__(self, leaves: list[Any], form: Form) -> None:
        self.leaves = leaves
        self.form = form
        # Depending on its draws, an image may come out as the same object.
        self.may_keep = all(kind_of(leaf) in _MAY_KEEP for leaf in leaves)


class Choice:
    def __init__(self, transform: Any, branches: list[Callable[[Any], Any]]) -> None:
        # The class's own code draws and decides, over what stands for the object.
        self._stand_in = SimpleNamespace(**{**vars(transform), "transforms": branches})
        self._decide = getattr(type(transform), "forward", None) or type(transform).__call__

    def __call__(self, value: Any) -> Any:
        return self._decide(self._stand_in, value)


class Own:
    def __init__(self, transform: Any) -> None:
        self.transform = transform


Part = Run | Choice | Own


class Recipe:
    """The recipe of one transform, as it is now."""

    def __init__(
        self,
        transform: Any,
        forms: Forms,
        perform: Callable[[Any, Any], Any],
        of_tensor: bool = False,
    ) -> None:
        """`perform`: what a list of parts makes of a value, for the branches of a Choice.
        `of_tensor`: it begins at a tensor that nobody has decoded, not at an image."""
        self._beginning = TENSOR if of_tensor else RGB
        self.transform = transform  # held, because it is known by its id
        self.is_native = False  # there is a Run in it
        self._altered = False
        self._forms = forms
        self._perform = perform
        self._noted: list[tuple[Any, dict[str, Any]]] = []
        self._tensors: list[tuple[torch.Tensor, int]] = []  # and how often they had been written
        self._of_timm: list[type] = []
        self.parts = self._parts([transform])
        self._watch = ChainWatch(thing for thing, _ in self._noted)

    def watch(self) -> None:
        """Looks from now on at whether what its calls go through stays as it is now, which is as the
        native parts stand for it."""
        self._watch = ChainWatch((thing for thing, _ in self._noted), intact=True)

    def holds(self) -> bool:
        """True: nobody has altered the objects since, or what their calls go through, not even to
        alter it back."""
        whole = self._as_noted() and self._watch.same() and all(map(is_timms, self._of_timm))
        self._altered = self._altered or not whole
        return not self._altered

    def _as_noted(self) -> bool:
        try:
            return all(vars(thing) == then for thing, then in self._noted) and all(
                tensor._version == then for tensor, then in self._tensors
            )
        except Exception:  # things that can't be compared
            return False

    def _parts(self, transforms: list[Any]) -> list[Part]:
        parts: list[Part] = []
        leaves: list[Any] = []
        nodes: list[Node] = []
        for leaf in [leaf for transform in transforms for leaf in self._opened(transform)]:
            node = self._node(leaf)
            if node is not None:
                leaves.append(leaf)
                nodes.append(node)
                continue
            parts += self._runs(leaves, nodes)
            leaves, nodes = [], []
            parts.append(self._choice(leaf) or Own(leaf))
        return parts + self._runs(leaves, nodes)

    def _opened(self, transform: Any) -> Iterator[Any]:
        kind = _kind(transform)
        if kind not in CONTAINERS and type(transform) is not Sequential:
            yield transform
            return
        self._note(transform, _one_level)
        for part in transform.transforms if kind else transform:
            yield from self._opened(part)

    def _node(self, leaf: Any) -> Node | None:
        try:
            node = timm_node(leaf)
            if node is None:
                node = node_of(leaf)
            else:
                self._of_timm.append(type(leaf))
            if node.args.get("generator") == "python":
                return None  # whose draws stay in Python here
            self._note(leaf, self._all_levels)
        except Exception:  # NotNative; what it holds can't be copied
            return None
        return node

    def _choice(self, leaf: Any) -> Choice | None:
        kind = _kind(leaf)
        if kind not in CHOICES:
            return None
        self._note(leaf, _one_level)
        inner = list(leaf.transforms)
        lists = [inner] if kind.endswith("RandomApply") else [[one] for one in inner]
        branches = [self._parts(transforms) for transforms in lists]
        return Choice(leaf, [functools.partial(self._perform, parts) for parts in branches])

    def _note(self, thing: Any, copied: Callable[[Any], Any]) -> None:
        self._noted.append((thing, copied(vars(thing))))

    def _all_levels(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """A copy down to the tensors, which have no one answer to ==: they stay the same objects."""
        tensors = [value for value in attributes.values() if isinstance(value, torch.Tensor)]
        self._tensors += [(tensor, tensor._version) for tensor in tensors]
        return copy.deepcopy(attributes, {id(tensor): tensor for tensor in tensors})

    def _runs(self, leaves: list[Any], nodes: list[Node]) -> list[Part]:
        """The longest that have a chain, where they are worth one."""
        parts: list[Part] = []
        while leaves:
            for count in range(len(leaves), 0, -1):
                form = self._forms.of(leaves[:count], nodes[:count])
                if form.chain(self._beginning) is not None:
                    break
            cheap = self._beginning == RGB and all(node.op in _CHEAP for node in form.nodes)
            if form.chain(self._beginning) is None or cheap:
                parts += map(Own, leaves[:count])
            else:
                parts.append(Run(leaves[:count], form))
                self.is_native = True
            leaves, nodes = leaves[count:], nodes[count:]
        return parts


def _kind(transform: Any) -> str | None:
    """Does what kind_of does; None also for an object that is not as its class made it."""
    try:
        check_unaltered(transform)
    except Exception:  # NotNative; it has no attributes
        return None
    return kind_of(transform)


def _one_level(attributes: dict[str, Any]) -> dict[str, Any]:
    """A copy with lists and dicts of its own, of what they hold."""
    return {
        name: copy.copy(value) if isinstance(value, list | dict) else value
        for name, value in attributes.items()
    }
