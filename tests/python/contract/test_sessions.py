"""Contract: what one loader's code does on the workers, another one does not see."""

import importlib
import sys

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service import service
from support.compare import assert_same, seed_everything
from torch.utils.data import DataLoader, Dataset

FACTOR = 1  # that tests change


class Scaled(Dataset):
    """Scales by a global of the program."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index * FACTOR, torch.rand(1)


class AsksAHelper(Dataset):
    """A module that the trainer itself has not imported."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return importlib.import_module("helper_of_the_program").VALUE


@pytest.fixture
def own_service():
    service.close()
    yield
    service.close()


def both_ways(run):
    expected = run("")
    headrace.install()
    try:
        assert_same(run("python"), expected)
    finally:
        headrace.uninstall()


def batches(dataset, path="python"):
    seed_everything()
    loader = DataLoader(dataset, batch_size=2, num_workers=1)
    seen = list(loader)
    assert not path or state_of(loader).report.path == path
    return seen


def test_a_global_changes_between_loaders(own_service, monkeypatch):
    def run(path):
        seen = []
        for factor in (1, 2, 3):
            monkeypatch.setattr(sys.modules[__name__], "FACTOR", factor)
            seen += batches(Scaled(), path)
        return seen

    both_ways(run)


def test_another_import_path_is_seen(own_service, tmp_path, monkeypatch):
    for value in (1, 2):
        folder = tmp_path / str(value)
        folder.mkdir()
        (folder / "helper_of_the_program.py").write_text(f"VALUE = {value}")

    def run(path):
        seen = []
        for value in (1, 2):
            with monkeypatch.context() as patch:
                patch.syspath_prepend(str(tmp_path / str(value)))
                seen += batches(AsksAHelper(), path)
        return seen

    both_ways(run)
