"""Contract: torchdata's StatefulDataLoader is served, and its state stays its own.

A state may be taken and loaded with or without Headrace: the batches are the stock ones.
"""

import copy
import json
import sys

import headrace.serve
import pytest
import torch
from headrace.loader.seam import state_of
from support.compare import assert_same, check, seed_everything
from support.extent import BRIEF
from support.pipelines import Failing, Numbers, train_v1
from torch.utils.data import DistributedSampler, IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler
from torchvision import datasets

pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")  # torchdata

EPOCHS = 2


def images(photos):
    return datasets.ImageFolder(photos, train_v1())


KINDS = {
    "shuffled": lambda photos: {"dataset": images(photos), "shuffle": True},
    "in-order": lambda photos: {"dataset": images(photos)},
    "three-workers": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "num_workers": 3,
        "drop_last": True,
    },
    "persistent": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "persistent_workers": True,
    },
    "every-third-step": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "snapshot_every_n_steps": 3,
    },
    "generator": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "generator": torch.Generator().manual_seed(8),
    },
    "distributed": lambda photos: {
        "dataset": images(photos),
        "sampler": DistributedSampler(range(27), 2, 1),
    },
    "stateful-distributed": lambda photos: {
        "dataset": images(photos),
        "sampler": StatefulDistributedSampler(range(27), 2, 1),
    },
    "python-stage": lambda photos: {"dataset": Numbers(), "shuffle": True},
}


def loader_of(kind, photos, seed=5):
    seed_everything(seed)
    return StatefulDataLoader(**{"batch_size": 2, "num_workers": 2, **KINDS[kind](photos)})


def run(loader, epochs=EPOCHS):
    """All batches, and the state before, within and after each epoch."""
    seen, points = [], []
    for epoch in range(epochs):
        seen.append([])
        iterator = iter(loader)
        points.append((epoch, 0, copy.deepcopy(loader.state_dict())))
        for batch in iterator:
            seen[-1].append(copy.deepcopy(batch))
            points.append((epoch, len(seen[-1]), copy.deepcopy(loader.state_dict())))
        points.append((epoch, -1, copy.deepcopy(loader.state_dict())))
        seen[-1].append(torch.rand(1))  # the program's own numbers
    return seen, points


def of_path(loader, kind):
    report = state_of(loader).report
    assert report.path == ("python" if "python" in kind else "native"), report.reasons


@pytest.mark.parametrize("kind", KINDS)
def test_batches_and_states(photos, seam, kind):
    loader = loader_of(kind, photos)
    served = run(loader)
    of_path(loader, kind)
    headrace.uninstall()
    stock = run(loader_of(kind, photos))
    assert_same(served[0], stock[0])
    assert_same(served[1], stock[1])


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_either_side(photos, kind):
    """Loaded with and without Headrace, and taken with and without it: the same batches."""
    headrace.uninstall()
    points = run(loader_of(kind, photos))[1]
    headrace.install()
    try:
        again = run(loader_of(kind, photos))[1]
        for (*at, taken), (*_, taken_served) in list(zip(points, again, strict=True))[
            :: 9 if "python" in kind or BRIEF else 4
        ]:
            headrace.uninstall()
            stock = resumed(kind, photos, taken_served)
            headrace.install()
            assert_same(resumed(kind, photos, taken, check=True), stock, f"{at}: ")
    finally:
        headrace.uninstall()


def resumed(kind, photos, state, check=False):
    loader = loader_of(kind, photos, seed=999)
    loader.load_state_dict(copy.deepcopy(state))
    seen = [[copy.deepcopy(batch) for batch in loader] for _ in range(2)]
    if check:
        of_path(loader, kind)
    return seen


def test_state_before_iter(photos, seam):
    loader = loader_of("shuffled", photos)
    state = loader.state_dict()
    served = [copy.deepcopy(batch) for batch in loader]
    headrace.uninstall()
    loader = loader_of("shuffled", photos)
    assert_same(state, loader.state_dict())
    assert_same(served, [copy.deepcopy(batch) for batch in loader])


@pytest.mark.parametrize("persistent", [False, True])
def test_early_break(photos, persistent):
    check(
        lambda _: StatefulDataLoader(
            images(photos),
            3,
            shuffle=True,
            num_workers=2,
            persistent_workers=persistent,
        ),
        stop=2,
        epochs=3,
    )


def test_errors_come_at_their_batch(photos):
    check(lambda _: StatefulDataLoader(Failing(), 3, num_workers=2), "python")


def test_broken_pictures(own_photos):
    for path in sorted(own_photos.glob("*/*.jpg"))[::5]:
        path.write_bytes(path.read_bytes()[:300])
    check(lambda _: StatefulDataLoader(images(own_photos), 2, num_workers=2))


def test_break_frees_the_session_at_once(photos, seam):
    loader = loader_of("shuffled", photos)
    iterator = iter(loader)
    next(iterator)
    handle = iterator._handle
    loader._iterator = None
    del iterator
    assert handle.raw is None and state_of(loader).idle is None


def test_epochs_share_a_session(photos, seam):
    loader = loader_of("shuffled", photos)
    list(loader)
    kept = state_of(loader).idle[1]
    list(loader)
    assert state_of(loader).idle[1] is kept


class Remembers(Numbers):
    """A dataset with a state of its own."""

    def state_dict(self):
        return {"epoch": self.epoch}

    def load_state_dict(self, state):
        self.epoch = state["epoch"]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(20))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda photos: StatefulDataLoader(Remembers(), 4, num_workers=2),
            "which has state_dict()",
        ),
        (lambda photos: StatefulDataLoader(images(photos), 4), "use num_workers=1 or more"),
        (lambda photos: StatefulDataLoader(Stream(), 4, num_workers=1), "IterableDataset"),
    ],
)
def test_what_stays_with_its_own_workers(photos, make, reason, capfd):
    check(lambda _: make(photos), "local")
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("headrace: ")]
    assert len(said) == 1 and reason in said[0]


def test_torchdata_of_another_shape(photos, seam, monkeypatch, capfd):
    monkeypatch.delitem(sys.modules, "headrace.serve.stateful", raising=False)
    monkeypatch.delattr(headrace.serve, "stateful", raising=False)
    module = sys.modules["torchdata.stateful_dataloader.stateful_dataloader"]
    monkeypatch.delattr(module, "_StatefulMultiProcessingDataLoaderIter")
    loader = loader_of("shuffled", photos)
    with pytest.raises(NameError):  # torchdata's own; it is not there
        iter(loader)
    assert "this torchdata is not known" in capfd.readouterr().err


def test_states_are_small(photos, seam):
    loader = StatefulDataLoader(images(photos), 2, num_workers=2)
    next(iter(loader))
    assert len(json.dumps(loader.state_dict())) < 1000
