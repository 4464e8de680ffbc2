"""Samples that the trainer makes itself: those no worker can make natively.

They are made by the dataset's own code from the very random state that the stock loader's worker
would have, so bits, exception types and messages are the stock loader's.
"""

import bisect
import os
import random
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import ConcatDataset, Subset

from ..capture.captured import NativePlan
from ..native.structure import fields_in, sample_of
from . import lane_state


@contextmanager
def own_random_state() -> Iterator[None]:
    """What happens inside leaves no trace in the program's CPU generators.

    Accelerators' generators are not touched at all: torch.manual_seed, which reseeds them, must not
    be called inside.
    """
    kept = torch.get_rng_state(), random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        torch.set_rng_state(kept[0])
        random.setstate(kept[1])
        np.random.set_state(kept[2])


def seed_all(seed: int) -> None:
    """Seeds all generators as a worker does for one sample with rng="sample"."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)


def is_other_file(missing: Any) -> bool:
    """Whether no worker made a sample for its file alone, which on that host is another one, is not
    there or may not be read."""
    return missing.detail in ("OtherContent", "OtherSpec", "NoFile", "NotAllowed")


class Made:
    """A sample, or what was raised instead, and the random state after it."""

    def __init__(self, key: Any, value: Any, error: Any, state_after: bytes) -> None:
        self.key = key
        self.value = value
        self.error = error  # an ExceptionWrapper; an exception when there are no workers
        self.state_after = state_after
        self.resolved = False  # the planner knows already
        self.ended_process = False  # the one that was to make it
        self.peak_bytes = 0  # that it took, where that was measured


def make(dataset: Any, key: Any, where: str, torch_state: bytes, seed: int | None) -> Made:
    """dataset[key]. `torch_state`: as lane_state's. `where`: "in DataLoader worker process 3", or empty for no workers."""
    with own_random_state():
        if seed is not None:
            seed_all(seed)
        elif torch_state:
            lane_state.set_state(torch_state)
        others = lane_state.others_in(torch_state)
        try:
            return Made(key, dataset[key], None, lane_state.state_bytes(others))
        except Exception as error:
            wrapped = ExceptionWrapper(where=where) if where else error
            return Made(key, None, wrapped, lane_state.state_bytes(others))


def raise_made(error: Any, dataset: Any, key: Any) -> None:
    """What dataset[key] raised. Some errors of image files do not say which file: a note does."""
    try:
        if isinstance(error, ExceptionWrapper):
            error.reraise()
        raise error
    except Exception as raised:
        add_note(raised, dataset, [key])
        raise


def add_note(error: Exception, dataset: Any, keys: list[Any]) -> None:
    """Which file it is about, where it does not say so. `keys`: of samples that no worker could
    make; one of them raised `error`."""
    if len(keys) != 1 or not hasattr(error, "add_note"):  # Python 3.11
        return
    path = file_of(dataset, keys[0])
    if path and path not in str(error):
        error.add_note(f"headrace: sample {keys[0]} is {path}: replace or remove that file")


def file_of(dataset: Any, key: Any) -> str:
    """The path of a sample; empty where there is none."""
    try:
        while type(dataset) in (Subset, ConcatDataset):
            if type(dataset) is Subset:
                dataset, key = dataset.dataset, dataset.indices[key]
                continue
            ends = dataset.cumulative_sizes
            key += ends[-1] if key < 0 else 0
            place = bisect.bisect_right(ends, key)
            dataset, key = dataset.datasets[place], key - (ends[place - 1] if place else 0)
        path = dataset.samples[key][0]
    except (AttributeError, LookupError, TypeError):
        return ""
    # The samples of a data set of the program's own may be anything.
    return path if isinstance(path, str) and os.path.exists(path) else ""


def fill(fields: list[torch.Tensor], made: dict[int, Any], plan: NativePlan) -> bool:
    """Writes samples into their rows. False if one does not fit there: nothing was written."""
    labels = plan.labels  # Python's integers, which are not collated with tensors
    items = {position: fields_in(plan.structure, value) for position, value in made.items()}
    for of_sample in items.values():
        if of_sample is None or not all(map(_fits, of_sample, fields)):
            return False
        if any(type(of_sample[label]) is not int for label in labels):
            return False
    for position, of_sample in items.items():
        for item, field in zip(of_sample or [], fields, strict=True):
            field[position] = item
    return True


def _fits(item: Any, field: torch.Tensor) -> bool:
    if isinstance(item, torch.Tensor):
        return item.dtype == field.dtype and item.shape == field.shape[1:]
    return type(item) is int and field.dtype == torch.int64 and field.ndim == 1


def rows(
    fields: list[Any],
    made: dict[int, Any],
    count: int,
    plan: NativePlan,
    without: Collection[int] = (),
) -> list[Any]:
    """The samples of a batch one by one, for collate_fn. `without`: positions that are left out."""
    kept = (i for i in range(count) if i not in without)
    return [made[i] if i in made else _row(fields, i, plan) for i in kept]


def joined(collate_fn: Any, fields: list[Any], plan: NativePlan, device: str | None = None) -> Any:
    """The batch of these fields, as the program's collate_fn makes it. Where torch refuses to make it,
    the program's own code raises. `device`: as NativePlan.batch's."""
    try:
        return plan.batch(fields, device)
    except Exception:
        if plan.form is None and plan.targets is None:
            raise
    return collate_fn(rows(fields, {}, len(fields[0]), plan))


def _row(fields: list[Any], i: int, plan: NativePlan) -> Any:
    row: list[Any] = [field[i] for field in fields]
    for label in plan.labels:
        row[label] = int(row[label])
    return sample_of(plan.structure, row)
