"""Which code may run on other hosts."""

import threading

import pytest
from headrace.capture import capture, elsewhere
from headrace.capture.elsewhere import code_for_others
from support.pipelines import Numbers
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


class Counting(Numbers):
    made = 0

    def __getitem__(self, index):
        self.made += 1
        return self.made


class Locking(Numbers):
    def __init__(self, count):
        super().__init__(count)
        self.lock = threading.Lock()


def code(data):
    return code_for_others(DataLoader(data, num_workers=1), ())


def test_code_without_state_may():
    stage, reason, remedy = code(Numbers(8))
    assert stage is not None and bytes(stage.bundle)
    assert (stage.replayed, reason, remedy) == (False, "", "")


@pytest.mark.parametrize(
    ("data", "why"),
    [(Stream(), "IterableDataset"), (Counting(8), "made"), (Locking(8), "dataset.lock")],
)
def test_what_keeps_code_here_is_named_with_what_would_change_it(data, why):
    stage, reason, remedy = code(data)
    assert stage is None
    assert why in reason
    assert remedy


def test_without_other_hosts_nothing_is_shipped_or_examined(monkeypatch):
    monkeypatch.setattr(elsewhere, "code_for_others", None)
    found = capture(DataLoader(Counting(8), num_workers=1), "auto")
    assert (found.path, found.plan.python.bundle, found.stays) == ("python", None, "")


def test_with_other_hosts_the_reason_is_told(monkeypatch):
    monkeypatch.setenv("HEADRACE_COORDINATOR", "tcp://127.0.0.1:9")
    found = capture(DataLoader(Counting(8), num_workers=1), "auto")
    assert found.plan.python.bundle is None
    assert "made" in found.stays and "(" in found.stays
    assert capture(DataLoader(Numbers(8), num_workers=1), "auto").stays == ""
