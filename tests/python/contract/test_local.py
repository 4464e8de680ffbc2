"""Contract: what cannot leave the trainer stays there, works as ever, and says why, once."""

import threading

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from support.compare import check
from support.pipelines import Numbers
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
from torchvision import datasets, transforms


class Holder(Dataset):
    def __init__(self, held):
        self.held = held

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index


@pytest.mark.parametrize(
    "held",
    [
        lambda path: threading.Lock(),
        lambda path: {"a": [threading.Lock()]},
        lambda path: np.memmap(path / "m", np.uint8, "w+", shape=(16,)),
        lambda path: torch.zeros(3).share_memory_(),
        lambda path: (i for i in range(3)),
    ],
    ids=["lock", "nested", "memmap", "shared", "generator"],
)
def test_does_not_pickle(tmp_path, capfd, held):
    """Its own workers are forked, as the stock loader's, and nothing is pickled."""
    value = held(tmp_path)
    check(lambda loader: loader(Holder(value), batch_size=3, num_workers=1), path="python")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("headrace: DataLoader(Holder) runs as Python in its own workers: ")


def test_open_file(tmp_path):
    (tmp_path / "text").write_text("content")
    with open(tmp_path / "text") as file:
        check(lambda loader: loader(Holder(file), batch_size=3, num_workers=1), path="python")


def test_own_code_without_workers_stays(capfd):
    check(lambda loader: loader(Numbers(), batch_size=3), path="local")
    assert "with num_workers=0 it may use the program's own state" in capfd.readouterr().err


def test_loaders_that_are_made_anew_say_it_once(capfd):
    for _ in range(3):
        check(lambda loader: loader(Numbers(), batch_size=3), path="local")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("headrace: DataLoader(Numbers) stays in the trainer: ")


def test_tensors_without_workers_stay(capfd):
    data = ConcatDataset(
        [TensorDataset(torch.arange(9)), Subset(TensorDataset(torch.ones(3)), [1])]
    )
    check(lambda loader: loader(data, batch_size=4, shuffle=True), path="local")
    assert "its tensors may change before any batch" in capfd.readouterr().err


def test_keys_that_are_not_integers():
    class Named(Dataset):
        def __getitem__(self, key):
            return len(key)

    named = {"sampler": ["a", "bb", "ccc"], "batch_size": 2, "num_workers": 1}
    check(lambda loader: loader(Named(), **named), path="python")


def test_one_line_for_each_reason(capfd, seam):
    loader = DataLoader(Holder(threading.Lock()), num_workers=1)
    for _ in range(3):
        list(loader)
    assert len(capfd.readouterr().err.splitlines()) == 1


def test_python_stage_says_what_has_no_native_form(photos, capfd, seam):
    transform = transforms.Compose([transforms.ToTensor(), transforms.Lambda(torch.sqrt)])
    data = datasets.ImageFolder(photos, transform)
    loader = DataLoader(data, batch_size=1, num_workers=1)
    list(loader)
    assert state_of(loader).report.path == "python"
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("runs as Python in its own workers: torchvision.transforms.transforms.Lambda "
                         "has no native form")  # fmt: skip


def test_loader_inside_of_a_worker(seam):
    check(lambda loader: loader(Outer(), batch_size=2, num_workers=1), path="python")


class Outer(Dataset):
    """Iterates a loader of its own in each sample."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return sum(batch.sum() for (batch,) in DataLoader(TensorDataset(torch.arange(index + 2))))
