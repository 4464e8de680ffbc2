"""Contract: code whose samples depend on earlier ones gives those of the stock loader's workers."""

import random
import sqlite3

import headrace
import numpy as np
import pytest
import torch
from headrace.capture import capture
from headrace.seam import state_of
from PIL import Image
from support.compare import assert_same, check, seed_everything
from support.photos import without_tables
from support.processes import kill_processes
from support.stateful import (
    STATEFUL,
    ClosureCell,
    Counter,
    GlobalList,
    InALibrarysList,
    Iterator,
    Rows,
    TurnedOnByUnpickling,
    WritesAFile,
)
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
def test_is_said_with_its_place(make, reason, capfd):
    check(loader_of(make), path="python")
    (line,) = capfd.readouterr().err.splitlines()
    head, tail = reason.split("%")
    assert "runs as Python on the workers: " in line and head in line and tail in line
    assert line.endswith(": each lane stays with one worker")


# A copy of the last one is not what it was by its own __setstate__, wherever it goes.
_SERVED = [cls for cls in STATEFUL if cls not in (WritesAFile, TurnedOnByUnpickling)]


@pytest.mark.parametrize("cls", _SERVED)
def test_each_lane_has_the_state_that_a_stock_worker_has(cls):
    check(loader_of(cls, num_workers=3, batch_size=2), path="python")


def counted():
    calls = []

    def collate(samples):
        calls.append(len(samples))
        return torch.tensor([row for row, _ in samples]) + len(calls)

    return collate


def test_collate_fn_that_counts(capfd):
    check(loader_of(Rows, collate_fn=counted()), path="python")
    assert "changes closure variable calls" in capfd.readouterr().err


class ManySizes(Counter):
    """As detectors are trained: every few batches, images of another size."""

    def collate_fn(self, samples):
        self.count += 1
        if self.count % 2 == 0:
            self.side = random.choice(range(2, 6))
        return torch.full((len(samples), self.side), float(sum(samples)))

    side = 1


@pytest.mark.parametrize("named", [{}, {"batch_size": None, "shuffle": False}, {"drop_last": True}])
def test_dataset_and_collate_fn_share_their_state(named):
    def make(loader):
        dataset = ManySizes()
        own = {} if "batch_size" in named else {"collate_fn": dataset.collate_fn}
        return loader(dataset, **{"batch_size": 3, "num_workers": 2, **own, **named})

    check(make, path="python", epochs=3)


class Raises(Counter):
    def __getitem__(self, index):
        row = super().__getitem__(index)
        if index % 4 == 3:
            raise ValueError(f"row {row} after {self.count}")
        return row + self.count


def test_goes_on_behind_an_error():
    check(loader_of(Raises, batch_size=2), path="python")


def test_programs_may_change_the_state_between_epochs():
    def before(loader, epoch):
        loader.dataset.count = 100 * epoch

    check(loader_of(lambda: Weighted(Counter())), path="python", before=None)
    check(loader_of(Bumped), path="python", before=before, epochs=3)


class Bumped(Counter):
    def __getitem__(self, index):
        return super().__getitem__(index) + self.count


class Weighted(Rows):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getitem__(self, index):
        return self.inner[index] * self.inner.count + random.random()


@pytest.mark.parametrize("word", [" worker", "headrace.stage.host"])
def test_is_run_again_where_its_worker_is_lost(word, two_workers):
    """Each batch once, with the bits of an undisturbed epoch; what it prints is seen once."""

    def run(disturb):
        seed_everything()
        loader = DataLoader(Weighted(Bumped()), batch_size=2, num_workers=2, shuffle=True)
        seen = []
        for epoch in range(2):
            for number, batch in enumerate(loader):
                seen.append(batch)
                if disturb and (epoch, number) == (1, 2):
                    kill_processes(word)
        return seen, loader

    expected, _ = run(disturb=False)
    headrace.install()
    try:
        seen, loader = run(disturb=True)
    finally:
        headrace.uninstall()
    assert state_of(loader).report.path == "python"
    assert_same(seen, expected)


@pytest.mark.parametrize("stop", [0, 1, 3, 4])
def test_a_state_goes_on_where_it_was_taken(stop):
    def make():
        seed_everything()
        return headrace.DataLoader(Bumped(), batch_size=3, num_workers=2, shuffle=True)

    whole = list(make())
    loader = make()
    iterator = iter(loader)
    before = [next(iterator) for _ in range(stop)]
    state = loader.state_dict()
    del iterator
    resumed = make()
    resumed.load_state_dict(state)
    assert_same(before + list(resumed), whole)


class Photos(Counter):
    """Goes on where PIL can't read a file."""

    def __init__(self, folder):
        super().__init__()
        self.files = sorted(folder.rglob("*.jpg"))[:12]

    def __getitem__(self, index):
        self.count += 1
        try:
            picture = Image.open(self.files[index]).convert("RGB").resize((320, 240))
        except OSError as error:
            return torch.full(
                (240, 320, 3), self.count + len(str(error)) // 1000, dtype=torch.uint8
            )
        return torch.from_numpy(np.array(picture)) // 2 + self.count


def test_pictures_of_code_with_state_are_native(own_photos):
    """But in a lane that meets one which only PIL makes: that lane begins anew without them."""
    images = []

    def make(loader):
        made = loader(Photos(own_photos), batch_size=2, num_workers=3)
        images.append(state_of(made).report)
        return made

    check(make, path="python", epochs=1)
    assert images[-1].counts["native_images"] == 12
    damaged = sorted(own_photos.rglob("*.jpg"))[7]  # of the second batch in lane 0
    damaged.write_bytes(without_tables(damaged.read_bytes()))
    check(make, path="python", epochs=1)
    assert images[-1].counts["native_images"] == 8 + 2


class Opened(Photos):
    """Nobody looks at its pictures on the worker."""

    def __getitem__(self, index):
        self.count += 1
        try:
            return self.count, Image.open(self.files[index]).convert("RGB")
        except OSError:
            return self.count, None


def seen(pictures):
    return [(count, picture and picture.tobytes()) for count, picture in pictures]


def test_pictures_that_nobody_looks_at(own_photos):
    """A file that PIL can't read is noticed where the code asks for it, not where the batch leaves."""
    damaged = sorted(own_photos.rglob("*.jpg"))[7]
    damaged.write_bytes(without_tables(damaged.read_bytes()))

    def batches_of(loader):
        return [
            seen(batch) for batch in loader(Opened(own_photos), 2, num_workers=3, collate_fn=list)
        ]

    stock = batches_of(DataLoader)
    assert stock[3][1][1] is None
    headrace.install()
    try:
        assert batches_of(DataLoader) == stock
    finally:
        headrace.uninstall()


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"persistent_workers": True}, "and persistent_workers=True makes that last"),
        ({"sampler": range(10**9), "shuffle": False}, "its epochs are too long to be run again"),
    ],
)
def test_what_cannot_be_run_again_stays(named, why, capfd):
    check(loader_of(Bumped, **named), path="local", stop=2, epochs=1)
    err = capfd.readouterr().err
    assert "keeps its own workers: Counter.__getitem__" in err and why in err


def test_what_writes_files_stays(capfd):
    check(loader_of(WritesAFile), path="local")
    assert "keeps its own workers: " in capfd.readouterr().err


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
