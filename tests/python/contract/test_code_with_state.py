"""Contract: code whose samples depend on earlier ones gives those of the stock loader's workers."""

import copy
import os
import random
import re
import signal
import sqlite3

import headrace
import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from PIL import Image
from support.compare import assert_same, check, seed_everything
from support.extent import some
from support.lost_worker import check_with_a_lost_worker
from support.photos import without_tables
from support.stateful import (
    STATEFUL,
    ClosureCell,
    Counter,
    GlobalList,
    InPlaceTensor,
    Iterator,
    MutableDefault,
    Rows,
    WritesAFile,
)
from support.stateless import Memo, MemoByDecorator, OpensLater, Scratch
from torch.utils.data import DataLoader


def loader_of(make, **named):
    named = {"batch_size": 3, "num_workers": 2, "shuffle": True, **named}
    return lambda loader: loader(make(), **named)


# test_proof tells all of them from code without state.
USUAL = [Counter, GlobalList, ClosureCell, MutableDefault, Iterator, InPlaceTensor, WritesAFile]


@pytest.mark.parametrize("cls", some(STATEFUL, USUAL))
def test_each_lane_has_the_state_that_a_stock_worker_has(cls):
    check(loader_of(cls, num_workers=3, batch_size=2), path="python")


def counted():
    calls = []

    def collate(samples):
        calls.append(len(samples))
        return torch.tensor([row for row, _ in samples]) + len(calls)

    return collate


def test_collate_fn_that_counts():
    check(loader_of(Rows, collate_fn=counted()), path="python")


class ManySizes(Counter):
    """Gives images of another size every few batches, as for detectors."""

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


def test_goes_on_where_the_data_worker_is_lost(two_workers):
    """The lane's process outlives it, with its state: each batch once, made once."""
    check_with_a_lost_worker(
        lambda: DataLoader(Weighted(Bumped()), batch_size=2, num_workers=2, shuffle=True),
        path="python",
    )


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


def test_pictures_of_code_with_state_are_native(own_photos, monkeypatch):
    """The exception is one which only PIL makes: its lane goes on after it as before."""
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # whole pictures for the cache are counted, too
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
    assert images[-1].counts["native_images"] == 11


class Many(Photos):
    """The same files again and again."""

    def __init__(self, folder, count):
        super().__init__(folder)
        self.files = [self.files[at % 12] for at in range(count)]

    def __len__(self):
        return len(self.files)


def damage(file):
    file.write_bytes(without_tables(file.read_bytes()))


@pytest.mark.parametrize("persistent", [False, True])
def test_a_damaged_picture_is_pils_alone_in_every_epoch(own_photos, persistent, monkeypatch):
    """One lane meets two of them, of 12, several times each."""
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # whole pictures for the cache are counted, too
    data = Many(own_photos, 36)
    for at in (3, 10):
        damage(data.files[at])
    reports = []

    def make(loader):
        made = loader(
            copy.deepcopy(data), batch_size=2, num_workers=1, persistent_workers=persistent
        )
        reports.append(state_of(made).report)
        return made

    check(make, path="python", epochs=2)
    assert reports[-1].counts["native_images"] == 2 * 30


def test_a_lane_of_many_damaged_pictures_does_not_begin_again_for_each(own_photos, tmp_path):
    """What it makes again is at most twice what it has made. Then pictures are PIL's."""
    data = Many(own_photos, 40)
    for at in range(20, 40):  # one after the other, each another file
        copied = tmp_path / f"{at}.jpg"
        *file, last, end = data.files[at].read_bytes()
        copied.write_bytes(bytes([*file, at, last, end]))
        damage(copied)
        data.files[at] = copied
    entered = tmp_path / "entered"

    class Told(Many):
        def __getitem__(self, index):
            with open(entered, "a") as file:
                file.write(f"{index}\n")
            return super().__getitem__(index)

    data.__class__ = Told
    check(
        lambda loader: loader(copy.deepcopy(data), batch_size=1, num_workers=1), "python", epochs=1
    )
    times = len(entered.read_text().splitlines()) - 40  # less the stock loader's
    assert 40 < times < 40 + 3 * 24


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
    "named",
    [
        {"persistent_workers": True},
        {"sampler": range(10**9), "shuffle": False},
        # Each epoch starts an interpreter for each worker.
        pytest.param(
            {"persistent_workers": True, "multiprocessing_context": "spawn"}, marks=pytest.mark.full
        ),
    ],
)
def test_state_that_lasts(named):
    check(loader_of(Bumped, **named), path="python", stop=2)


def test_a_lane_whose_process_dies_is_an_error_as_with_the_stock_loader():
    class Dies(Rows):
        def __getitem__(self, index):
            if index == 7:
                os.kill(os.getpid(), signal.SIGKILL)
            return index  # tensors that wait in torch's queue are lost with their process

    def error_of():
        with pytest.raises(RuntimeError) as raised:
            list(DataLoader(Dies(), num_workers=2, collate_fn=list))
        return re.sub(r"[0-9]+", "N", str(raised.value))

    # Torch says the one where its handler of SIGCHLD sees the death, the other where its loop does.
    texts = (
        "DataLoader worker (pid N) is killed by signal: Killed. ",
        "DataLoader worker (pid(s) N) exited unexpectedly",
    )
    assert error_of() in texts
    headrace.install()
    try:
        assert error_of() in texts
    finally:
        headrace.uninstall()


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


def test_database_cursor(tmp_path):
    check(loader_of(lambda: Queries(tmp_path / "data")), path="python")
    check(loader_of(lambda: QueriesLater(tmp_path / "data")), path="python")


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
