"""Contract: the program's own code runs on other hosts only where its batches are those of this one."""

import contextlib
import decimal
import os
import signal
import subprocess
import sys
import time

import headrace
import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same
from support.elsewhere import HOST, starting_hosts
from support.headrace_program import wait_for
from support.processes import hosts as hosts_of_stages
from support.processes import stages, zygotes
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Rows of a file, with noise."""

    def __init__(self, path):
        self.path = path

    def __len__(self):
        return 64

    def __getitem__(self, index):
        row = np.fromfile(self.path, np.uint8)[index]
        return torch.rand(3) + row, np.random.randint(1000), index


class Counting(Noisy):
    """Each sample knows which one it is of its lane's."""

    made = 0

    def __getitem__(self, index):
        self.made += 1
        return super().__getitem__(index) + (self.made,)


class Lying(Noisy):
    """Declared to keep nothing. Counts where nobody reads it from the text."""

    def __getitem__(self, index):
        setattr(self, "ma" + "de", getattr(self, "made", 0) + 1)
        return super().__getitem__(index) + (self.made,)


class LyingLater(Noisy):
    """Declared to keep nothing. Where there is a file `begin`, it counts where no picture shows it,
    and from the sample `first` on where one does. On this host the sample `late` is made after a
    batch elsewhere."""

    late = first = -1

    def __init__(self, path):
        super().__init__(path)
        self.calls = decimal.Context(prec=1)

    def __getitem__(self, index):
        if not self.path.with_name("begin").exists():
            return *super().__getitem__(index), 0
        moved, here = self.path.with_name("moved"), os.uname().nodename != HOST
        if index == self.late and here:
            wait_for(moved.exists, "batch made elsewhere")
        if index == self.first:
            setattr(self, "ma" + "de", True)
        self.calls.prec += 1
        if self.calls.prec == 3 and not here:
            moved.touch()
        return *super().__getitem__(index), self.calls.prec


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows"
    file.write_bytes(bytes(range(64)))
    return file


@pytest.fixture
def hosts(monkeypatch, tmp_path):
    with starting_hosts(monkeypatch, tmp_path) as start:
        yield start


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
    for batch in loader:
        made.append([each.clone() for each in batch])
        if len(made) == 1:
            after_one()
    return made


def loader_of(data):
    return DataLoader(data, 2, shuffle=True, num_workers=2)


def report_of(loader):
    REPORT.as_dict()
    return state_of(loader).report


def by_two(report):
    """Both workers have made batches that the program got."""
    return len(report.samples_by_worker) == 2


def until(loader, expected, done):
    """Epochs, each of them equal, until the report says what is wanted. They are over so soon that
    a worker on trial would show nothing, so they wait for it."""

    def wait_for_comparison():
        soon = time.monotonic() + 5
        while report_of(loader).counts["compared"] == before and time.monotonic() < soon:
            time.sleep(0.005)

    deadline = time.monotonic() + 120
    while not done(report_of(loader)):
        assert time.monotonic() < deadline, vars(report_of(loader))
        before = report_of(loader).counts["compared"]
        assert_same(epoch(loader, wait_for_comparison), expected)


def test_code_runs_elsewhere_after_its_batches_were_compared(hosts, rows, monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPARE", "4")
    expected = epoch(loader_of(Noisy(rows)))
    hosts("here")
    hosts("elsewhere")
    with installed():
        loader = loader_of(Noisy(rows))
        until(loader, expected, by_two)
        assert report_of(loader).counts["compared"] >= 2
        until(loader, expected, lambda report: report.counts["compared"] >= 4)
        assert report_of(loader).counts["differed"] == 0


def test_a_worker_whose_files_differ_gets_no_batches(hosts, rows, tmp_path, capfd):
    others = tmp_path / "others"
    others.write_bytes(bytes(range(63, -1, -1)))
    expected = epoch(loader_of(Noisy(rows)))
    hosts("here")
    hosts("elsewhere", {rows: others})
    with installed():
        loader = loader_of(Noisy(rows))
        until(loader, expected, lambda report: report.counts["differed"] > 0)
        assert_same(epoch(loader), expected)
        assert len(report_of(loader).samples_by_worker) == 1, "a batch of it was used"
    said = capfd.readouterr().err
    assert f"on {HOST} makes other batches than this host: batch " in said
    assert ", sample 0, field [0]: " in said
    assert "and none that it made was used" in said


@pytest.mark.parametrize("what", [stages, zygotes, hosts_of_stages])
def test_killed_processes_of_a_stage_elsewhere_change_no_batch(hosts, rows, what):
    expected = epoch(loader_of(Noisy(rows)))
    hosts("here")
    hosts("elsewhere")
    with installed():
        loader = loader_of(Noisy(rows))
        until(loader, expected, by_two)
        seen = []
        torch.manual_seed(5)
        for number, batch in enumerate(loader):
            seen.append([each.clone() for each in batch])
            if number == 3:
                victims = list(what())
                assert victims
                for victim in victims:
                    os.kill(victim, signal.SIGKILL)
        assert_same(seen, expected)


def test_without_a_worker_on_this_host_a_loader_keeps_its_own_workers(hosts, rows, capfd):
    expected = epoch(loader_of(Noisy(rows)))
    hosts("elsewhere")
    with installed():
        loader = loader_of(Noisy(rows))
        assert_same(epoch(loader), expected)
        assert report_of(loader).samples_by_path["local"] == 64
    assert "has to be compared with this host" in capfd.readouterr().err


def test_code_with_state_stays_on_this_host_and_says_so(hosts, rows, capfd):
    expected = epoch(loader_of(Counting(rows)))
    hosts("here")
    hosts("elsewhere")
    with installed():
        loader = loader_of(Counting(rows))
        for _ in range(3):
            assert_same(epoch(loader), expected)
        report = report_of(loader)
        assert report.counts["compared"] == 0
        assert len(report.samples_by_worker) == 1
    said = capfd.readouterr().err
    assert said.count("its code stays on this host: ") == 1
    assert "made" in said


HASHES = """
import sys, time
import headrace, torch
from headrace.service.report import REPORT
from headrace.loader.seam import state_of
from torch.utils.data import DataLoader, Dataset

class Buckets(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        return hash(f"word {index}") % 1000, "".join({"a", "b", "c", f"{index}"})

def epoch(loader):
    return [(batch[0].tolist(), list(batch[1])) for batch in loader]

if __name__ == "__main__":
    expected = epoch(DataLoader(Buckets(), 2, num_workers=2))
    headrace.install()
    loader = DataLoader(Buckets(), 2, num_workers=2)
    deadline = time.monotonic() + 90
    while True:
        assert epoch(loader) == expected
        REPORT.as_dict()
        report = state_of(loader).report
        if len(report.samples_by_worker) == 2:
            print("differed", report.counts["differed"])
            sys.exit()
        assert time.monotonic() < deadline, vars(report)
"""


def run_file(folder, source, seed):
    """Code without a file is not proved."""
    (folder / "program.py").write_text(source)
    return subprocess.run(
        [sys.executable, folder / "program.py"],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_hashes_of_text_are_the_programs_own_elsewhere(hosts, tmp_path):
    """No worker was started with this seed: its interpreter begins again with it."""
    hosts("here")
    hosts("elsewhere")
    done = run_file(tmp_path, HASHES, "7")
    assert (done.returncode, done.stdout) == (0, "differed 0\n"), done.stderr


def test_code_whose_hashes_nobody_else_has_stays_on_this_host(hosts, tmp_path):
    hosts("here")
    hosts("elsewhere")
    once = HASHES.replace("== 2:", "== 1:")
    done = run_file(tmp_path, once, "random")
    assert (done.returncode, done.stdout) == (0, "differed 0\n"), done.stderr
    assert "its code stays on this host: " in done.stderr and "PYTHONHASHSEED=0" in done.stderr


def test_state_that_was_declared_away_is_seen_and_the_code_stays(hosts, rows, capfd):
    headrace.pure(Lying)
    expected = epoch(loader_of(Lying(rows)))
    hosts("here")
    hosts("elsewhere")
    with installed():
        loader = loader_of(Lying(rows))
        for _ in range(3):
            assert_same(epoch(loader), expected)
        assert len(report_of(loader).samples_by_worker) == 1
        anew = loader_of(Lying(rows))
        assert_same(epoch(anew), expected)
        assert state_of(anew).captured.plan.python.bundle is None, "it was forgotten"
    said = capfd.readouterr().err
    assert said.count("its code stays on this host: dataset.made is new: ") == 1
    assert "derive it from the index and the epoch" in said


def test_lanes_that_have_moved_are_made_again_from_their_beginning(hosts, rows, capfd):
    """One of the two has counted elsewhere before it is seen."""
    headrace.pure(LyingLater)
    data = LyingLater(rows)
    expected = epoch(loader_of(data))
    data.late, data.first = int(expected[1][2][0]), int(expected[3][2][1])
    begin, moved = rows.with_name("begin"), rows.with_name("moved")
    begin.touch()
    moved.touch()
    with_state = epoch(loader_of(data))
    begin.unlink()
    moved.unlink()
    hosts("here")
    hosts("elsewhere")
    with installed():
        loader = loader_of(data)
        for _ in range(2):
            assert_same(epoch(loader), expected)  # a session that lasts begins with the second one
        until(loader, expected, by_two)
        begin.touch()
        for _ in range(2):
            assert_same(epoch(loader), with_state)
        assert report_of(loader).counts["differed"] == 0
    said = capfd.readouterr().err
    assert "its code stays on this host: dataset.made is new: " in said
