"""Contract: what cannot leave the trainer stays there, works as ever, and says why, once."""

import threading

import numpy as np
import pytest
import torch
from headrace.seam import state_of
from support.compare import check
from support.pipelines import Numbers, train_v1
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import datasets, transforms


class Holder(Dataset):
    def __init__(self, held):
        self.held = held

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (lambda path: threading.Lock(), "dataset.held (_thread.lock) does not pickle: cannot"),
        (lambda path: {"a": [threading.Lock()]}, "dataset.held['a'][0] (_thread.lock)"),
        (
            lambda path: np.memmap(path / "m", np.uint8, "w+", shape=(16,)),
            "dataset.held is a memory map",
        ),
        (lambda path: torch.zeros(3).share_memory_(), "dataset.held is a tensor in memory shared"),
        (lambda path: (i for i in range(3)), "dataset.held (generator) does not pickle"),
    ],
    ids=["lock", "nested", "memmap", "shared", "generator"],
)
def test_does_not_pickle(tmp_path, capfd, held, reason):
    value = held(tmp_path)
    check(lambda loader: loader(Holder(value), batch_size=3, num_workers=1), path="local")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"headrace: DataLoader(Holder) keeps its own workers: {reason}")


def test_open_file(tmp_path, capfd):
    (tmp_path / "text").write_text("content")
    with open(tmp_path / "text") as file:
        check(lambda loader: loader(Holder(file), batch_size=3, num_workers=1), path="local")
    assert "dataset.held is an open file" in capfd.readouterr().err


def test_own_code_without_workers_stays(capfd):
    check(lambda loader: loader(Numbers(), batch_size=3), path="local")
    assert "with num_workers=0 it may use the program's own state" in capfd.readouterr().err


def test_loaders_that_are_made_anew_say_it_once(capfd):
    for _ in range(3):
        check(lambda loader: loader(Numbers(), batch_size=3), path="local")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("headrace: DataLoader(Numbers) stays in the trainer: ")


def test_torch_random_numbers_without_workers_stay(photos, capfd, monkeypatch):
    monkeypatch.setenv("HEADRACE_RNG", "torch")
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, batch_size=4, shuffle=True), path="local")
    assert "draw from the program's own random numbers" in capfd.readouterr().err


def test_keys_that_are_not_integers(capfd):
    class Named(Dataset):
        def __getitem__(self, key):
            return len(key)

    named = {"sampler": ["a", "bb", "ccc"], "batch_size": 2, "num_workers": 1}
    check(lambda loader: loader(Named(), **named), path="local")
    assert "the sampler yields keys that are not integers" in capfd.readouterr().err


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
    assert line.endswith("runs as Python on the workers: torchvision.transforms.transforms.Lambda "
                         "has no native form")  # fmt: skip


def test_loader_inside_of_a_worker(seam):
    check(lambda loader: loader(Outer(), batch_size=2, num_workers=1), path="python")


class Outer(Dataset):
    """Iterates a loader of its own in each sample."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return sum(batch.sum() for (batch,) in DataLoader(TensorDataset(torch.arange(index + 2))))
