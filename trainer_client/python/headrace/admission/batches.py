"""Whether a batch's form, which was followed, is what the program's collate_fn makes of samples."""

from typing import Any

import torch

from ..capture.captured import NativePlan
from .bits import same_bits
from .samples import rows

_Fields = list[torch.Tensor] | None  # of a sample; None: it was not made


def different_batch(
    collate_fn: Any, captured: NativePlan, ours: list[_Fields], theirs: list[_Fields]
) -> str:
    """What differs; empty: nothing, beside the samples' bits. `ours`, `theirs`: some samples as
    workers and as the data set's own code make them. The code of `collate_fn` is known to do nothing
    but to make the batch."""
    made = [sample for sample in theirs if sample is not None]
    if captured.form is None or not made:
        return ""
    for mine, other in zip(ours, theirs, strict=True):
        for number in captured.form.rows if mine and other else ():
            assert mine and other
            look = type if number in captured.form.copied else _memory
            if look(mine[number]) != look(other[number]):
                return "its tensors have other strides or another class natively"
    # One sample twice: what is stacked has one shape.
    for some in (made, [made[0], made[0]]):
        fields = _fields_of(some, captured)
        if fields is None:
            continue
        try:
            batch = collate_fn(rows(fields, {}, len(some), captured))
        except Exception:  # so it will for such a batch (samples.joined)
            continue
        if not _same(captured.batch(fields), batch):
            return f"collate_fn={collate_fn!r} makes another batch than its code says"
    return ""


def _fields_of(samples: list[list[torch.Tensor]], captured: NativePlan) -> list[Any] | None:
    """Of a batch of these samples; None: it can't be stacked."""
    assert captured.form is not None
    fields: list[Any] = []
    for number, column in enumerate(zip(*samples, strict=True)):
        if number in captured.form.rows or number in captured.beside:
            fields.append(list(column))
        elif any(one.shape != column[0].shape for one in column):
            return None
        else:
            fields.append(torch.stack(column))
    return fields


def _memory(tensor: torch.Tensor) -> tuple[type, tuple[int, ...]]:
    return type(tensor), tensor.stride()


def _same(mine: Any, theirs: Any) -> bool:
    if type(mine) is not type(theirs):
        return False
    if isinstance(mine, torch.Tensor):
        return _memory(mine) == _memory(theirs) and same_bits(mine, theirs)
    if isinstance(mine, dict):
        return list(mine) == list(theirs) and all(_same(mine[key], theirs[key]) for key in mine)
    if isinstance(mine, list | tuple):
        return len(mine) == len(theirs) and all(map(_same, mine, theirs))
    return bool(mine == theirs)
