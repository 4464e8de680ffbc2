"""Contract: code whose samples depend on earlier ones stays; what only looks like it is served."""

import sqlite3

import pytest
import torch
from headrace.capture import capture
from support.compare import check
from support.stateful import ClosureCell, Counter, GlobalList, InALibrarysList, Iterator, Rows
from support.stateless import Memo, MemoByDecorator, OpensLater, Scratch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.data import DataLoader, Subset


def loader_of(make, **named):
    named = {"batch_size": 3, "num_workers": 2, "shuffle": True, **named}
    return lambda loader: loader(make(), **named)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Counter, "Counter.__getitem__ (stateful.py:%) changes self.count"),
        (GlobalList, "GlobalList.__getitem__ (stateful.py:%) changes global SEEN"),
        (ClosureCell, "transform (stateful.py:%) changes closure variable calls"),
        (Iterator, "Iterator.__getitem__ (stateful.py:%) uses self.numbers, an iterator"),
        (InALibrarysList, "Scaler.__call__ (stateful.py:%) changes self.transform.transforms[1].c"),
        (lambda: Subset(Counter(), range(6)), "__getitem__ (stateful.py:%) changes self.dataset.c"),
    ],
    ids=["counter", "global", "closure", "iterator", "transform", "subset"],
)
def test_stays_with_its_place(make, reason, capfd):
    check(loader_of(make), path="local")
    (line,) = capfd.readouterr().err.splitlines()
    head, tail = reason.split("%")
    assert "keeps its own workers: " in line and head in line and tail in line


def test_collate_fn_that_counts(capfd):
    calls = []

    def collate(samples):
        calls.append(len(samples))
        return torch.tensor([row for row, _ in samples]) + len(calls)

    check(loader_of(Rows, collate_fn=collate), path="local")
    assert "changes closure variable calls" in capfd.readouterr().err


class Queries(Rows):
    def __init__(self, path):
        super().__init__()
        self.database = sqlite3.connect(path)
        self.cursor = self.database.cursor()

    def __getitem__(self, index):
        return self.cursor.execute("select ?", (index,)).fetchone()[0]


class QueriesLater(Rows):
    """Connects in the process that asks."""

    def __init__(self, path):
        super().__init__()
        self.path, self.database = str(path), None

    def __getitem__(self, index):
        if self.database is None:
            self.database = sqlite3.connect(self.path)
        return self.database.execute("select ? + 1", (index,)).fetchone()[0]


def test_database_cursor(tmp_path, capfd):
    check(loader_of(lambda: Queries(tmp_path / "data")), path="local")
    assert "a database connection" in capfd.readouterr().err
    check(loader_of(lambda: QueriesLater(tmp_path / "data")), path="python")


def test_tensor_on_a_device():
    dataset = Rows()
    with FakeTensorMode():
        dataset.weights = torch.empty(3, device="cuda")
    captured = capture(DataLoader(dataset, num_workers=1), "auto")
    assert captured.path == "local"
    assert captured.reasons == ["dataset.weights is a tensor on cuda:0"]


def test_lambda_over_local_state_is_that_of_each_iter():
    def make():
        scale = {"by": 1}
        dataset = Memo()
        dataset.transform = lambda value: value * scale["by"]
        dataset.scale = scale
        return Scaled(dataset)

    def before(loader, epoch):
        loader.dataset.inner.scale["by"] = epoch + 2

    check(loader_of(make), path="python", before=before, epochs=3)


class Scaled(Rows):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getitem__(self, index):
        return self.inner.transform(self.inner[index])


@pytest.mark.parametrize("make", [MemoByDecorator, OpensLater, Scratch])
def test_caches_are_served(make):
    check(loader_of(make), path="python")
