"""Contract: timeout, and lost workers."""

import os
import signal
import threading
import time

import headrace
import pytest
import torch
from headrace.service import service
from support.compare import assert_same
from support.pipelines import train_v1
from support.processes import descendants
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets


class Stuck(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        threading.Event().wait()


def test_timeout(seam):
    loader = DataLoader(Stuck(), num_workers=1, timeout=0.5)
    started = time.monotonic()
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0.5 seconds$"):
        next(iter(loader))
    assert time.monotonic() - started < 10


def test_timeout_that_is_long_enough(photos, seam):
    data = datasets.ImageFolder(photos, train_v1())
    assert len(list(DataLoader(data, 4, num_workers=1, timeout=60))) == 7


def workers():
    return [pid for pid, line in descendants(os.getpid()).items() if " worker" in line]


@pytest.fixture
def own_service(monkeypatch):
    """A service of this test's own, with two workers."""
    service.close()
    monkeypatch.setenv("HEADRACE_WORKERS", "2")
    yield
    service.close()


@pytest.mark.parametrize("kind", ["native", "python"])
def test_worker_killed_in_the_middle_of_an_epoch(photos, own_service, kind):
    """Same batches, same order, same bits."""
    init = None if kind == "native" else _seed

    def epoch():
        torch.manual_seed(3)
        data = datasets.ImageFolder(photos, train_v1())
        return iter(DataLoader(data, 2, shuffle=True, num_workers=2, worker_init_fn=init))

    expected = list(epoch())
    headrace.install()
    try:
        iterator = epoch()
        seen = [[tensor.clone() for tensor in next(iterator)] for _ in range(3)]
        victims = workers()
        assert len(victims) == 2
        os.kill(victims[0], signal.SIGKILL)
        seen += [[tensor.clone() for tensor in batch] for batch in iterator]
    finally:
        headrace.uninstall()
    assert_same(seen, expected)


def _seed(worker):
    torch.manual_seed(worker)


def test_every_worker_killed_in_the_middle_of_an_epoch(photos, own_service):
    torch.manual_seed(3)
    data = datasets.ImageFolder(photos, train_v1())
    expected = list(DataLoader(data, 2, shuffle=True, num_workers=2))
    headrace.install()
    try:
        torch.manual_seed(3)
        iterator = iter(DataLoader(data, 2, shuffle=True, num_workers=2))
        seen = [[tensor.clone() for tensor in next(iterator)] for _ in range(3)]
        for victim in workers():
            os.kill(victim, signal.SIGKILL)
        seen += [[tensor.clone() for tensor in batch] for batch in iterator]
    finally:
        headrace.uninstall()
    assert_same(seen, expected)
