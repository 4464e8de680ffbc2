"""A batch as the program's own collate_fn makes it, where that was followed: nested of stacked
fields, of lists with an entry for each sample, of Python's integers, and of padded tensors (padding.py).

    images, labels = zip(*batch); return list(images), torch.tensor(labels)

is (Each(list, 0), Numbers(1)).
"""

import sys
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from ..records import dataclass
from . import padding
from .structure import Structure, fields_of, sample_of


@dataclass(frozen=True)
class Stacked:
    """A field as one tensor [B, ...]."""

    field: int


@dataclass(frozen=True)
class Numbers:
    """torch.tensor of a field of Python's integers; `dtype` by its wire name, empty: none is given."""

    field: int
    dtype: str = ""


@dataclass(frozen=True)
class Each:
    """A list or tuple with an entry for each sample. `of`: the fields of an entry."""

    kind: type
    of: Structure


Form = (
    Stacked
    | Numbers
    | Each
    | padding.Form
    | list["Form"]
    | tuple["Form", ...]
    | dict[str | int, "Form"]
)


@dataclass(frozen=True)
class Rows:
    """What a sample's tensor is, of a field that is a list. channels_last: it comes as [H, W, C], and
    the program's is a view of that; image: it is a tv_tensors.Image."""

    channels_last: bool = False
    image: bool = False


@dataclass(frozen=True)
class BatchForm:
    form: Form
    rows: dict[int, Rows] = field(default_factory=dict)  # by field
    copied: frozenset[int] = frozenset()  # those whose tensors no program sees


def tensors_of(capsules: Sequence[Any], form: BatchForm | None) -> list[Any]:
    """The fields of a delivered batch: a tensor, or a list of the samples' tensors."""
    return [
        [_row(capsule, form, number) for capsule in made]
        if type(made) is list
        else from_dlpack(made)
        for number, made in enumerate(capsules)
    ]


def copies_of(fields: list[Any]) -> list[Any]:
    """The same in memory of their own."""
    return [[row.clone() for row in f] if type(f) is list else f.clone() for f in fields]


def batch_of(form: Form, fields: Sequence[Any], device: str | None = None) -> Any:
    """The batch of these fields. `device`: where tensors of integers are made; None: where the
    program's default is now."""
    match form:
        case Stacked(number):
            return fields[number]
        case Numbers(number, dtype):
            made = getattr(torch, dtype) if dtype else None
            return torch.tensor(fields[number].tolist(), dtype=made, device=device)
        case Each(kind, of):
            return kind(_entries(of, fields))
        case padding.Padded() | padding.Sequences() | padding.Extended() | padding.Lengths():
            return padding.made_of(form, fields, device)
        case dict():
            return {key: batch_of(part, fields, device) for key, part in form.items()}
    parts = [batch_of(part, fields, device) for part in form]
    return tuple(parts) if type(form) is tuple else parts


def _entries(of: Structure, fields: Sequence[Any]) -> list[Any]:
    lists: list[Any] = list(fields)
    for number in fields_of(of):
        if type(fields[number]) is not list:  # a column of integers, which are Python's here
            lists[number] = fields[number].tolist()
    if type(of) is int:
        return list(lists[of])
    count = len(lists[fields_of(of)[0]])
    return [sample_of(of, _At(lists, i)) for i in range(count)]


class _At:
    """The fields of one sample."""

    def __init__(self, lists: list[Any], at: int) -> None:
        self._lists, self._at = lists, at

    def __getitem__(self, number: int) -> Any:
        return self._lists[number][self._at]


def _row(capsule: Any, form: BatchForm | None, number: int) -> torch.Tensor:
    row: torch.Tensor = from_dlpack(capsule)
    rows = form.rows.get(number) if form is not None else None
    if rows is None:
        return row
    if rows.channels_last:
        row = row.permute(2, 0, 1)
    if rows.image:
        row = row.as_subclass(sys.modules["torchvision.tv_tensors"].Image)
    return row
