"""What a program's own transform makes of a picture, where it only applies torchvision's.

Programs of self-supervised learning make several views of one picture:

    def __call__(self, x):
        base = self.resize(x)
        return [self.augment(base), self.augment(base)]

is  Views(values=(Applied((resize,), SOURCE),
                  Applied((crop, flip, to_tensor), 0),
                  Applied((crop, flip, to_tensor), 0)),
          result=[1, 2])
"""

from typing import Any

from ...native.joint import Sort
from ...native.plan import Node
from ...records import dataclass
from .grounds import Grounds

SOURCE = -1  # as an Applied's `of`: the picture that the data set gives the transform


@dataclass(frozen=True)
class Stack:
    """torch.stack of values of one shape, along a new first dimension. `of`: their indices."""

    of: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """What the trainer makes: by its number among these."""

    number: int


# Nested as the program returns it, of exact list, tuple and dict; each int is an index of `values`.
# Keys of a dict are str or int, in the program's order.
Structure = (
    int
    | Stack
    | Target
    | list["Structure"]
    | tuple["Structure", ...]
    | dict[str | int, "Structure"]
)


@dataclass(frozen=True)
class Known:
    """In the place of a transform: code of the program's whose native form is known."""

    node: Node
    makes_tensors: bool = False
    sort: Sort | None = None  # of what it makes; None: makes_tensors says it


@dataclass(frozen=True)
class Together:
    """In the place of a transform: what one call does to one of the pictures that it is given.

    transform: the one that is called. nodes: its native form for this picture. call: a number; what
    nodes draw, the nodes of the later values with this number draw, too, each at its place. sort: of
    what is made.
    """

    transform: Any
    nodes: tuple[Node, ...]
    call: int
    sort: Sort


@dataclass(frozen=True)
class Applied:
    """One computed value: what the transforms make of one other value, one after the other.

    transforms: one or more, each a class of torchvision's itself or torch.nn.Identity, no container,
    and nothing about the object was altered; or a Part of one, Flipped, Known or Together. One object
    may be in several values.
    Whether each has a native form is node_of's to say.
    of: SOURCE, or the index of an earlier value. Of an entry of a data set: below 0, picture -1 - of.
    where: the place in the program, for people: "TwoCrops.__call__ (main.py:12)".
    """

    transforms: tuple[Any, ...]
    of: int
    where: str = ""


@dataclass(frozen=True)
class Views:
    """A small graph of computed values, and which of them the program returns.

    values: in the order in which the program computes them, so in the order of their draws. Each
    is computed once a sample and draws once, however often it is used: several times, as a step to
    other values, or not at all (its draws and its errors are still the program's). A value that
    the next one alone uses is not a value of its own, but the beginning of that one's transforms.
    No value is changed after it was made by what is computed later (transforms with inplace=True).

    result: what the program returns. An index may come twice, and in another order than computed.
    Every index is that of a tensor: a transform that makes tensors is on its way from the picture.

    seen: all that this was found by; seen.same() says whether it still holds.
    """

    values: tuple[Applied, ...]
    result: Structure
    seen: Grounds

    @property
    def chain(self) -> tuple[Any, ...] | None:
        """The transforms, where the program returns one value made by one chain of them."""
        single = len(self.values) == 1 and self.result == 0 and type(self.result) is int
        return self.values[0].transforms if single else None


def indices_of(result: Structure) -> list[int]:
    """The indices in a structure, in the order in which they stand in it."""
    if isinstance(result, Target):
        return []
    if isinstance(result, int | Stack):
        return [result] if isinstance(result, int) else list(result.of)
    parts = result.values() if isinstance(result, dict) else result
    return [index for part in parts for index in indices_of(part)]
