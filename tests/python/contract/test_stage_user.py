"""Contract: a worker whose stages have a user of their own makes the same batches."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same
from support.elsewhere import starting_hosts
from torch.utils.data import DataLoader, Dataset


class Signing(Dataset):
    """Each user that makes a sample leaves a file."""

    def __init__(self, folder):
        self.folder = folder

    def __len__(self):
        return 64

    def __getitem__(self, index):
        (self.folder / str(os.geteuid())).touch()
        return torch.rand(3), index


@pytest.fixture
def folder():
    made = Path(tempfile.mkdtemp())
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


def test_stages_of_another_user_make_the_same_batches(monkeypatch, tmp_path, folder):
    if os.geteuid() != 0:
        pytest.skip("only root starts processes of another user")

    def loader_of():
        return DataLoader(Signing(folder), 2, shuffle=True, num_workers=2)

    def epoch(loader):
        torch.manual_seed(5)
        made = []
        for batch in loader:
            made.append([each.clone() for each in batch])
            if len(made) == 1:
                time.sleep(0.1)  # or it is over before a worker on trial has shown anything
        return made

    def by_two(loader):
        REPORT.as_dict()
        return len(state_of(loader).report.samples_by_worker) == 2

    headrace.pure(Signing)  # whoever makes it, it is the same
    expected = epoch(loader_of())
    with starting_hosts(monkeypatch, tmp_path) as start:
        start("here")
        start("elsewhere", words="--stage-user nobody")
        headrace.install()
        try:
            loader = loader_of()
            deadline = time.monotonic() + 40
            while not by_two(loader):
                assert time.monotonic() < deadline, vars(state_of(loader).report)
                assert_same(epoch(loader), expected)
        finally:
            headrace.uninstall()
    assert sorted(path.name for path in folder.iterdir()) == ["0", "65534"]
