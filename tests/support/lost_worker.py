"""A program whose data worker is killed in the middle of an epoch."""

import copy
from collections.abc import Callable

import headrace
import torch
from headrace.loader.seam import state_of
from torch.utils.data import DataLoader

from support.compare import assert_same, seed_everything
from support.processes import kill_processes


def check_with_a_lost_worker(
    make: Callable[[], DataLoader], *, path: str, epochs: int = 2, at: tuple[int, int] = (1, 2)
) -> None:
    """Asserts that the program gets the stock loader's batches and draws, although a worker is killed
    after the batch `at` (epoch, number), and that they came by that path."""
    expected, _ = _run(make, epochs, None)
    headrace.install()
    try:
        seen, loader = _run(make, epochs, at)
    finally:
        headrace.uninstall()
    assert state_of(loader).report.path == path
    assert_same(seen, expected)


def _run(make, epochs, lose_at):
    seed_everything()
    loader = make()
    seen = []
    for epoch in range(epochs):
        for number, batch in enumerate(loader):
            seen.append(copy.deepcopy(batch))
            if (epoch, number) == lose_at:
                kill_processes(" worker")
        seen.append(torch.rand(1))
    return seen, loader
