"""Contract: random cells of the grid of arguments. rng="torch" gives the stock loader's batches, and
rng="sample" the same samples however many workers there are and however they are made.

HEADRACE_TEST_SEED=N runs the cells of seed N again; HEADRACE_TEST_CELLS says how many.
"""

import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service import service
from support.compare import assert_same, seed_everything, trace
from support.pipelines import Numbers, evaluate_v1, train_tensors, train_v1, train_v2
from torch.utils.data import DataLoader, DistributedSampler, Subset
from torchvision import datasets

SEED = int(os.environ.get("HEADRACE_TEST_SEED") or random.SystemRandom().randrange(2**32))
CELLS = int(os.environ.get("HEADRACE_TEST_CELLS") or 45)


@dataclass
class Cell:
    seed: int
    pipeline: str
    num_workers: int
    stop: int | None
    named: dict[str, Any]
    own_generator: bool
    distributed: bool

    @property
    def ordered(self) -> bool:
        """in_order=False: what comes first is a matter of time, in the stock loader too."""
        return self.named["in_order"] or self.num_workers < 2


def cell_of(dice: random.Random) -> Cell:
    num_workers = dice.randrange(4)
    named = {"batch_size": dice.randint(1, 6), "drop_last": dice.random() < 0.5}
    named["in_order"] = dice.random() < 0.8
    if num_workers > 0:
        named["persistent_workers"] = dice.random() < 0.5
        named["prefetch_factor"] = dice.randint(1, 4)
    distributed = dice.random() < 0.3
    if not distributed:
        named["shuffle"] = dice.random() < 0.7
    cell = Cell(
        seed=dice.randrange(2**63),
        pipeline=dice.choice(["v1", "v1", "v2", "tensors", "evaluate", "subset", "python"]),
        num_workers=num_workers,
        stop=dice.choice([None, None, 0, 1, 4]),
        named=named,
        own_generator=dice.random() < 0.3,
        distributed=distributed,
    )
    if num_workers == 0 or not cell.ordered:  # no lanes to be equal with
        cell.pipeline = "evaluate"
    if not cell.ordered:
        cell.stop = None
    return cell


def data_of(pipeline: str, photos: Path) -> Any:
    if pipeline == "python":
        return Numbers(23)
    if pipeline == "subset":
        return Subset(datasets.ImageFolder(photos, train_v1()), range(1, 27, 2))
    made = {"v1": train_v1, "v2": train_v2, "tensors": train_tensors, "evaluate": evaluate_v1}
    transform = made[pipeline]()
    return datasets.ImageFolder(photos, transform)


def run(cell: Cell, photos: Path) -> tuple[Any, Any]:
    data = data_of(cell.pipeline, photos)
    named = dict(cell.named, num_workers=cell.num_workers)
    if cell.own_generator:
        named["generator"] = torch.Generator().manual_seed(cell.seed % 1000)
    if cell.distributed:
        named["sampler"] = DistributedSampler(data, 2, cell.seed % 2, seed=cell.seed % 1000)
    loader = DataLoader(data, **named)

    def before(loader: Any, epoch: int) -> None:
        if epoch == 0:
            seed_everything(cell.seed % 2**32)
        if cell.distributed:
            loader.sampler.set_epoch(epoch)

    seen = trace(loader, epochs=2, stop=cell.stop, before=before)
    if not cell.ordered:
        seen = sorted(str([field.tolist() for field in batch]) for k, batch in seen if k == "batch")
    return loader, seen


def test_torch_mode_is_the_stock_loader(photos):
    dice = random.Random(SEED)
    print("HEADRACE_TEST_SEED", SEED)
    for _ in range(CELLS):
        cell = cell_of(dice)
        headrace.uninstall()
        _, expected = run(cell, photos)
        headrace.install()
        try:
            loader, seen = run(cell, photos)
        finally:
            headrace.uninstall()
        assert_same(seen, expected, f"{cell}: ")
        path = "python" if cell.pipeline == "python" else "native"
        assert state_of(loader).report.path == path, state_of(loader).report.reasons


# rng="sample": a sample depends on the base seed, its key and how often it came.


class Folder(datasets.ImageFolder):
    """A class of the program whose code is not followed: a Python stage."""

    def __getitem__(self, index):
        try:
            return super().__getitem__(index)
        except OSError:
            raise


def by_key(
    data: Any, seed: int, num_workers: int, epochs: int = 1, disturb: Any = None, **named: Any
) -> list[Any]:
    """For each epoch, its samples in the order of the sampler."""
    torch.manual_seed(seed)
    loader = headrace.DataLoader(data, rng="sample", num_workers=num_workers, **named)
    seen = []
    for epoch in range(epochs):
        fields: list[list[Any]] = []
        for number, batch in enumerate(loader):
            if disturb is not None and (epoch, number) == (0, 1):
                disturb()
            fields.append([field.clone() for field in batch])
        seen.append([torch.cat(field) for field in zip(*fields, strict=True)])
    assert state_of(loader).report.rng == "sample"
    expected = "python" if type(data) is Folder else "native"
    assert state_of(loader).report.path == expected, state_of(loader).report.reasons
    return seen


def kill_the_worker() -> None:
    """The data worker itself, with all stages below it."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            above = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"worker" in words and above == os.getpid():
            found.append(int(folder.name))
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)


def test_sample_mode_is_the_same_for_any_workers_and_paths(photos):
    dice = random.Random(SEED)
    print("HEADRACE_TEST_SEED", SEED)
    seed = dice.randrange(2**63)
    native, python = (cls(photos, train_v1()) for cls in (datasets.ImageFolder, Folder))
    expected = by_key(native, seed, 0, shuffle=True)
    for data, num_workers, disturb in [
        (native, 1, None),
        (native, 2, None),
        (native, 3, None),
        (native, 2, kill_the_worker),
        (python, 1, None),
        (python, 3, None),
        (python, 2, kill_the_worker),
    ]:
        named = {"batch_size": dice.randint(1, 4), "prefetch_factor": dice.randint(1, 3)}
        seen = by_key(data, seed, num_workers, disturb=disturb, shuffle=True, **named)
        assert_same(seen, expected, f"{type(data)}, {num_workers} workers, {disturb}: ")
    service.close()


@pytest.mark.parametrize("persistent", [False, True])
def test_sample_mode_augments_each_epoch_anew(photos, persistent):
    data = datasets.ImageFolder(photos, train_v1())
    first, second, third = by_key(data, 5, 2, epochs=3, persistent_workers=persistent)
    assert torch.equal(first[1], second[1])  # the same samples
    assert not any(map(torch.equal, first[0], second[0]))
    assert not any(map(torch.equal, second[0], third[0]))
