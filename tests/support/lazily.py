"""A program with num_workers=0 without and with Headrace: its batches, and its generators."""

import copy
import hashlib
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import headrace
import numpy as np
import torch
from torch.utils.data import DataLoader
from torchvision import datasets

from support.compare import assert_same, seed_everything


def generators() -> str:
    """The program's three generators in one word."""
    python, numpy = repr(random.getstate()), repr(np.random.get_state(legacy=False))
    state = torch.get_rng_state().numpy().tobytes() + python.encode() + numpy.encode()
    return hashlib.sha256(state).hexdigest()[:16]


def both_ways(program: Callable[[], list[Any]]) -> tuple[list[Any], Any]:
    """Runs it without and with Headrace. Returns what it told, and the report of its last loader."""
    headrace.uninstall()
    seed_everything()
    expected = program()
    reports = len(headrace.service.report.REPORT._loaders)
    headrace.install()
    try:
        seed_everything()
        told = program()
    finally:
        headrace.uninstall()
    assert_same(told, expected)
    made = headrace.service.report.REPORT._loaders[reports:]
    return expected, made[-1] if made else None


def epoch(loader: DataLoader, between: Callable[[int], Any] = lambda number: None) -> list[Any]:
    """What a program sees that calls between(number) after each batch."""
    told: list[Any] = []
    for number, batch in enumerate(loader):
        told += [copy.deepcopy(batch), generators()]
        between(number)
    return [*told, generators()]


def without_workers(
    make: Callable[[], Any],
    epochs: int = 3,
    between: Callable[[int], Any] = lambda number: None,
    **named: Any,
) -> Any:
    """The report of a loader of these samples, whose shuffled epochs are the stock loader's. `named`: of the
    loader."""

    def program() -> list[Any]:
        loader = DataLoader(make(), 4, shuffle=True, **named)
        return [epoch(loader, between) for _ in range(epochs)]

    return both_ways(program)[1]


def told_by(loader: DataLoader, times: int) -> list[Any]:
    """What a program sees that asks so often for a batch, whatever comes."""
    told: list[Any] = []
    iterator = iter(loader)
    for _ in range(times):
        try:
            told.append(copy.deepcopy(next(iterator)))
        except StopIteration:
            told.append("end")
        except Exception as error:
            told.append((type(error), str(error)))
        told.append(generators())
    return told


def folder(place: Path, transform: Any) -> datasets.ImageFolder:
    return datasets.ImageFolder(place, transform)
