"""Contract: a worker elsewhere that answers with programs in the place of batches runs nothing here."""

import contextlib
import shlex
import sys
import time
from pathlib import Path

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same
from support.elsewhere import HOST, starting_hosts
from torch.utils.data import DataLoader, Dataset

# A worker's Python. Where there is a file `begin`, its batches are calls of os.mkdir.
ROGUE = """
import os, pickle
from headrace.stage import host, lane_host

BEGIN, MARK = os.environ["ROGUE_BEGIN"], os.environ["ROGUE_MARK"]  # later it is the trainer's

class Mark:
    def __reduce__(self):
        return os.mkdir, (MARK,)

honest = lane_host.pickle_batch

def rogue(value, slot, shares=False):
    made = honest(value, slot, shares)
    return (pickle.dumps([Mark()], 5), [], []) if os.path.exists(BEGIN) else made

lane_host.pickle_batch = rogue
host.main()
"""


class Noisy(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.rand(3), {"index": index}


@pytest.fixture
def pool(monkeypatch, tmp_path):
    """A worker here, and a rogue elsewhere."""
    python = tmp_path / "python"
    # Of its worker's variables a stage keeps few: these are its own.
    told = {"ROGUE_BEGIN": tmp_path / "begin", "ROGUE_MARK": tmp_path / "mark"}
    words = [f"{name}={value}" for name, value in told.items()]
    run = shlex.join(["exec", "env", *words, sys.executable, "-c", ROGUE])
    python.write_text(f'#!/bin/sh\n{run} "$3"\n')
    python.chmod(0o755)
    with starting_hosts(monkeypatch, tmp_path) as start:
        start("here")
        start("elsewhere", HEADRACE_PYTHON=str(python))
        yield Path(tmp_path)


@contextlib.contextmanager
def installed():
    headrace.install()
    try:
        yield
    finally:
        headrace.uninstall()


def epoch(loader, after_one=lambda: None):
    torch.manual_seed(5)
    made = []
    for noise, named in loader:
        made.append([noise.clone(), named["index"]])
        if len(made) == 1:
            after_one()
    return made


def loader_of():
    return DataLoader(Noisy(), 2, shuffle=True, num_workers=2)


def until(loader, expected, done):
    """Epochs that are all equal. They are over so soon that a worker on trial would show nothing, so
    they wait for it a while."""
    held = False

    def hold():
        nonlocal held
        soon = time.monotonic() + 5
        while not held and time.monotonic() < soon:
            counts = report_of(loader).counts
            held = counts["compared"] + counts["differed"] > before
            time.sleep(0.005)

    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline, vars(report_of(loader))
        counts = report_of(loader).counts
        before, held = counts["compared"] + counts["differed"], False
        assert_same(epoch(loader, hold), expected)


def report_of(loader):
    REPORT.as_dict()
    return state_of(loader).report


@pytest.mark.parametrize("trusted", [False, True])
def test_a_call_in_the_place_of_a_batch_is_not_made(pool, trusted, capfd):
    expected = epoch(loader_of())
    if not trusted:
        (pool / "begin").touch()
    with installed():
        loader = loader_of()
        if trusted:
            until(loader, expected, lambda: len(report_of(loader).samples_by_worker) == 2)
            (pool / "begin").touch()
        said = ""

        def is_said():
            nonlocal said
            said += capfd.readouterr().err
            return "answers with what is not read here" in said

        until(loader, expected, is_said)
        before = dict(report_of(loader).samples_by_worker)
        assert_same(epoch(loader), expected)
        grown = {
            worker
            for worker, count in report_of(loader).samples_by_worker.items()
            if count > before.get(worker, 0)
        }
        assert len(grown) == 1, "it gets batches again"
    assert f"on {HOST} answers with what is not read here: it calls posix.mkdir" in said
    assert not (pool / "mark").exists()
