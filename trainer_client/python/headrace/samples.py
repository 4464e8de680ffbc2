"""Samples that the trainer makes itself: those no worker can make natively.

They are made by the dataset's own code from the very random state that the stock loader's worker
would have, so bits, exception types and messages are the stock loader's.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper


def state_bytes() -> bytes:
    """torch.get_rng_state() as bytes."""
    return torch.get_rng_state().numpy().tobytes()


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


def set_torch_state(state: bytes) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


def seed_all(seed: int) -> None:
    """As a worker does for one sample with rng="sample"."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)


class Made:
    """A sample, or what was raised instead, and the random state behind it."""

    def __init__(self, value: Any, error: Any, state_after: bytes, resolved: bool = False) -> None:
        self.value = value
        self.error = error  # an ExceptionWrapper; an exception when there are no workers
        self.state_after = state_after
        self.resolved = resolved  # the planner knows already


def make(dataset: Any, key: Any, where: str, torch_state: bytes, seed: int | None) -> Made:
    """dataset[key]. `where`: "in DataLoader worker process 3", or empty for no workers."""
    with own_random_state():
        if seed is not None:
            seed_all(seed)
        elif torch_state:
            set_torch_state(torch_state)
        try:
            return Made(dataset[key], None, state_bytes())
        except Exception as error:
            wrapped = ExceptionWrapper(where=where) if where else error
            return Made(None, wrapped, state_bytes())


def raise_made(error: Any) -> None:
    if isinstance(error, ExceptionWrapper):
        error.reraise()
    raise error


def fill(fields: list[torch.Tensor], made: dict[int, Any]) -> bool:
    """Writes samples into their rows. False if one does not fit there: nothing was written."""
    for value in made.values():
        if not isinstance(value, tuple) or len(value) != len(fields):
            return False
        if not all(_fits(item, field) for item, field in zip(value, fields, strict=True)):
            return False
    for position, value in made.items():
        for item, field in zip(value, fields, strict=True):
            field[position] = item
    return True


def _fits(item: Any, field: torch.Tensor) -> bool:
    if isinstance(item, torch.Tensor):
        return item.dtype == field.dtype and item.shape == field.shape[1:]
    return type(item) is int and field.dtype == torch.int64 and field.ndim == 1


def rows(fields: list[torch.Tensor], made: dict[int, Any], count: int, labels: bool) -> list[Any]:
    """The samples of a batch one by one, for collate_fn. `labels`: field 1 holds Python ints."""
    return [made[i] if i in made else _row(fields, i, labels) for i in range(count)]


def _row(fields: list[torch.Tensor], i: int, labels: bool) -> tuple[Any, ...]:
    row: list[Any] = [field[i] for field in fields]
    if labels:
        row[1] = int(row[1])
    return tuple(row)
