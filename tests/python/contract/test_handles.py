"""Contract: data sets that hold handles of files make the stock loader's batches, here and elsewhere."""

import time

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same, check
from support.elsewhere import starting_hosts
from support.handle_datasets import Tokens, all_of, write_tokens
from torch.utils.data import DataLoader


@pytest.fixture
def hosts(monkeypatch, tmp_path):
    own = tmp_path / "hosts"
    own.mkdir()
    with starting_hosts(monkeypatch, own) as start:
        yield start
        headrace.uninstall()


def loader_of(data):
    """With one worker: forks that share an archive move one position, with the stock loader, too."""
    return DataLoader(data, 4, shuffle=True, num_workers=1)


def epoch(loader, between=lambda: None):
    torch.manual_seed(5)
    batches = []
    for batch in loader:
        batches.append(batch)
        between()
    return batches


def report_of(loader):
    REPORT.as_dict()
    return state_of(loader).report


def epochs_until(done, loader, expected):
    """Epochs, each equal to the expected one. They leave time for comparisons: without two equal batches
    the other host is given none."""
    deadline = time.monotonic() + 120
    while not done(report_of(loader)):
        assert time.monotonic() < deadline, vars(report_of(loader))
        assert_same(epoch(loader, lambda: time.sleep(0.01)), expected)


def test_in_lanes_of_this_host(tmp_path):
    for data in all_of(tmp_path).values():
        check(lambda loader, data=data: loader(data, 4, shuffle=True, num_workers=1), path="python")


def test_on_another_host(hosts, tmp_path):
    held = all_of(tmp_path)
    expected = {kind: epoch(loader_of(data)) for kind, data in held.items()}
    hosts("here")
    hosts("elsewhere", words=f"--allow-root {tmp_path}")  # its stages see nothing else
    headrace.install()
    for kind, data in held.items():
        loader = loader_of(data)
        epochs_until(lambda report: report.counts["compared"] >= 2, loader, expected[kind])
        assert report_of(loader).counts["differed"] == 0


def test_another_file_under_the_path_is_not_used(hosts, tmp_path, capfd):
    path, other = tmp_path / "tokens.bin", tmp_path / "other.bin"
    write_tokens(path)
    write_tokens(other, seed=6)
    data = Tokens(path)
    expected = epoch(loader_of(data))
    hosts("here")
    hosts("elsewhere", {path: other})
    headrace.install()
    loader = loader_of(data)
    said = ""
    deadline = time.monotonic() + 60
    while "worker refused" not in said:
        assert time.monotonic() < deadline, said
        assert_same(epoch(loader, lambda: time.sleep(0.02)), expected)
        said += capfd.readouterr().err
    assert f"{path} has other content here than on the trainer's host; give this host" in said
    for _ in range(2):
        assert_same(epoch(loader), expected)
    assert len(report_of(loader).samples_by_worker) == 1
    assert report_of(loader).counts["compared"] == 0
