"""A tensor of a batch that has room for its largest sample: torch makes it, filled with one value, and
each sample is copied to the start of its row.

    shape = tuple(max(s) for s in zip(*[image.shape for image in images]))
    batch = images[0].new_full((len(images), *shape), 0)
    for image, row in zip(images, batch):
        row[..., : image.shape[-2], : image.shape[-1]].copy_(image)

The calls are the program's own, one by one, on samples that were made natively. So the bits are torch's.
"""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from ..records import dataclass

# Numbers of a batch, and of a sample whose turn it is.


@dataclass(frozen=True)
class Count:
    """The number of samples."""


@dataclass(frozen=True)
class Side:
    """A length of a sample's tensor."""

    field: int
    axis: int


@dataclass(frozen=True)
class First:
    """Such a number of the first sample."""

    of: "Extent"


@dataclass(frozen=True)
class Longest:
    """The largest such number of all samples."""

    of: "Extent"


@dataclass(frozen=True)
class Computed:
    """`rule`: by its name in RULES."""

    rule: str
    parts: tuple["Extent", ...]


Extent = int | float | Count | Side | First | Longest | Computed
Index = Any  # of a tensor; in it an Extent for each number

RULES: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "ceil": math.ceil,
    "floor": math.floor,
    "float": float,
    "int": int,
    "max": max,
    "min": min,
}


# Tensors of a batch.


@dataclass(frozen=True)
class Blank:
    """How the tensor is made: by torch's function `by`, or by this method of the first sample of the
    field `like`. `args`: after the shape. dtype: by its wire name; a field: that field's; empty: none
    is given. fill: by fill_, after that."""

    by: str
    shape: tuple[Extent, ...]
    like: int | None = None
    args: tuple[Any, ...] = ()
    dtype: str | int = ""
    fill: Any = None


@dataclass(frozen=True)
class Write:
    """row[index] = value, or row[index].copy_(value), for each sample. `field`: the sample's tensor is
    the value."""

    index: Index
    by: str  # "=", "copy_" or "fill_"
    field: int | None = None
    value: Any = None


@dataclass(frozen=True)
class Padded:
    blank: Blank
    writes: tuple[Write, ...]


@dataclass(frozen=True)
class Sequences:
    """pad_sequence of a field, with these arguments."""

    field: int
    named: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Extended:
    """torch.stack of what torch.nn.functional.pad makes of each sample of a field. `pads`: on each side,
    as pad takes them; `named`: its other arguments."""

    field: int
    pads: tuple[Extent, ...]
    named: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Lengths:
    """torch.tensor of a number of each sample; `dtype` as of Blank."""

    of: Extent
    dtype: str = ""


Form = Padded | Sequences | Extended | Lengths


def fields_of(form: Any) -> set[int]:
    """The fields whose samples it takes."""
    found: set[int] = set()
    if isinstance(form, Sequences | Extended | Side):
        found = {form.field}
    if isinstance(form, Blank):
        found = {one for one in (form.like, form.dtype) if type(one) is int}
    if isinstance(form, Write) and form.field is not None:
        found = {form.field}
    return found.union(*map(fields_of, _parts(form)))


def _parts(form: Any) -> Iterable[Any]:
    if isinstance(form, slice):
        return form.start, form.stop, form.step
    if is_dataclass(form):
        return [getattr(form, part.name) for part in fields(form)]
    return form if isinstance(form, tuple) else ()


def made_of(form: Form, lists: Sequence[Any], device: str | None) -> torch.Tensor:
    """The tensor. `lists`: the fields, each sample's tensor in the list of its field. `device`: where
    torch makes tensors; None: where the program's default is now. Raises what torch raises."""
    match form:
        case Sequences(number, named):
            return pad_sequence(list(lists[number]), **dict(named))
        case Extended(number, pads, named):
            return torch.stack(
                [
                    pad(row, [number_of(part, lists, at) for part in pads], **dict(named))
                    for at, row in enumerate(lists[number])
                ]
            )
        case Lengths(of, dtype):
            count = len(lists[min(fields_of(of))])
            numbers = [number_of(of, lists, at) for at in range(count)]
            return torch.tensor(numbers, dtype=_dtype(dtype, lists), device=device)
    made = _blank(form.blank, lists, device)
    for at, row in enumerate(made):
        for write in form.writes:
            index = index_of(write.index, lists, at)
            value = write.value if write.field is None else lists[write.field][at]
            if write.by == "=":
                row[index] = value
            else:
                getattr(row[index], write.by)(value)
    return made


def _blank(blank: Blank, lists: Sequence[Any], device: str | None) -> torch.Tensor:
    shape = [number_of(of, lists) for of in blank.shape]
    named: dict[str, Any] = {}
    if blank.dtype != "":
        named["dtype"] = _dtype(blank.dtype, lists)
    make: Any
    if blank.like is not None:
        make = getattr(lists[blank.like][0], blank.by)
        made = make(*shape) if blank.by == "new" else make(shape, *blank.args, **named)
    else:
        make = getattr(torch, blank.by)
        made = make(shape, *blank.args, **named, device=device)
    filled: torch.Tensor = made if blank.fill is None else made.fill_(blank.fill)
    return filled


def _dtype(dtype: str | int, lists: Sequence[Any]) -> torch.dtype | None:
    if isinstance(dtype, int):
        return lists[dtype][0].dtype  # type: ignore[no-any-return]
    return getattr(torch, dtype) if dtype else None


def number_of(of: Extent, lists: Sequence[Any], at: int = 0) -> Any:
    """`at`: the sample whose turn it is."""
    match of:
        case Count():
            return max(map(len, lists), default=0)
        case Side(number, axis):
            return lists[number][at].shape[axis]
        case First(part):
            return number_of(part, lists, 0)
        case Longest(part):
            count = len(lists[min(fields_of(part))])
            return max(number_of(part, lists, sample) for sample in range(count))
        case Computed(rule, parts):
            return RULES[rule](*[number_of(part, lists, at) for part in parts])
    return of


def index_of(index: Index, lists: Sequence[Any], at: int) -> Any:
    if isinstance(index, tuple):
        return tuple(index_of(part, lists, at) for part in index)
    if isinstance(index, slice):
        return slice(*[index_of(part, lists, at) for part in _parts(index)])
    return index if index is None or index is Ellipsis else number_of(index, lists, at)
