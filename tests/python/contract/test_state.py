"""Contract: state_dict is what the program has received; the next batch is the one that would have
come. One generic resume test over every kind of loader."""

import copy
import json

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same, seed_everything
from support.extent import BRIEF
from support.pipelines import Numbers, chain_with, evaluate_v1, train_v1
from torch.utils.data import (
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torchvision import datasets

EPOCHS = 3


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(20))


def images(photos):
    return datasets.ImageFolder(photos, train_v1())


KINDS = {
    "shuffled": lambda photos: {"dataset": images(photos), "shuffle": True, "num_workers": 2},
    # Its draws leave a normal number in a lane's generator for the sample after.
    "aug-mix": lambda photos: {
        "dataset": datasets.ImageFolder(photos, chain_with("aug_mix", 0)),
        "shuffle": True,
        "num_workers": 2,
    },
    "one-worker": lambda photos: {"dataset": images(photos), "shuffle": True, "num_workers": 1},
    "persistent": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "num_workers": 2,
        "persistent_workers": True,
    },
    "generator": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "num_workers": 2,
        "generator": torch.Generator().manual_seed(8),
    },
    "persistent-generator": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "num_workers": 2,
        "persistent_workers": True,
        "generator": torch.Generator().manual_seed(8),
    },
    "sampler-generator": lambda photos: {
        "dataset": images(photos),
        "sampler": RandomSampler(range(27), generator=torch.Generator().manual_seed(8)),
        "num_workers": 2,
    },
    "subset-sampler": lambda photos: {
        "dataset": images(photos),
        "sampler": SubsetRandomSampler(range(0, 27, 2)),
        "num_workers": 2,
    },
    "replacement": lambda photos: {
        "dataset": images(photos),
        "sampler": RandomSampler(range(27), replacement=True, num_samples=20),
        "num_workers": 2,
        "rng": "sample",
    },
    "weighted": lambda photos: {
        "dataset": images(photos),
        "sampler": WeightedRandomSampler([1.0] * 26 + [9.0], 20),
        "num_workers": 2,
    },
    "sample-mode": lambda photos: {
        "dataset": images(photos),
        "shuffle": True,
        "num_workers": 2,
        "rng": "sample",
    },
    "no-workers": lambda photos: {
        "dataset": datasets.ImageFolder(photos, evaluate_v1()),
        "shuffle": True,
    },
    "no-workers-random": lambda photos: {"dataset": images(photos), "shuffle": True},
    "in-order": lambda photos: {"dataset": images(photos), "num_workers": 2},
    "python-stage": lambda photos: {"dataset": Numbers(), "shuffle": True, "num_workers": 2},
    "python-persistent": lambda photos: {
        "dataset": Numbers(),
        "shuffle": True,
        "num_workers": 2,
        "persistent_workers": True,
    },
    "stream": lambda photos: {"dataset": Stream(), "num_workers": 1},
    "stream-no-workers": lambda photos: {"dataset": Stream()},
}


def loader_of(kind, photos):
    return headrace.DataLoader(batch_size=4, **KINDS[kind](photos))


def iterate(loader, epochs):
    return [[copy.deepcopy(batch) for batch in loader] for _ in range(epochs)]


class Checkpoint:
    """What a training program saves."""

    def __init__(self, loader, epoch):
        self.epoch = epoch
        self.state = json.loads(json.dumps(loader.state_dict()))
        self.torch = torch.get_rng_state()


def run_with_checkpoints(loader):
    """All batches of all epochs, and the checkpoints before, between and after them."""
    seen, points = [], [(0, 0, Checkpoint(loader, 0))]
    for epoch in range(EPOCHS):
        seen.append([])
        for batch in loader:
            seen[-1].append(copy.deepcopy(batch))
            points.append((epoch, len(seen[-1]), Checkpoint(loader, epoch)))
        points.append((epoch + 1, 0, Checkpoint(loader, epoch + 1)))
    return seen, points


@pytest.mark.parametrize("kind", KINDS)
def test_resume(photos, kind):
    seed_everything()
    seen, points = run_with_checkpoints(loader_of(kind, photos))
    # A Python stage starts an interpreter for each loader.
    wanted = [p for p in points if p[0] < EPOCHS][:: 7 if "python" in kind or BRIEF else 2]
    for epoch, received, point in wanted:
        seed_everything(999)
        loader = loader_of(kind, photos)
        loader.load_state_dict(point.state)
        torch.set_rng_state(point.torch)
        rest = iterate(loader, EPOCHS - epoch)
        expected = [seen[epoch][received:], *seen[epoch + 1 :]]
        assert_same(rest, expected, f"epoch {epoch}, {received} received: ")


def test_persistent_python_lanes_resume_as_the_stock_loader_goes_on(photos):
    """The epochs after the place equal the stock loader's, not only those of Headrace's own run."""
    named = {"batch_size": 4, "shuffle": True, "num_workers": 2, "persistent_workers": True}
    seed_everything()
    stock = iterate(torch.utils.data.DataLoader(Numbers(), **named), EPOCHS)
    seed_everything()
    loader = headrace.DataLoader(Numbers(), **named)
    iterate(loader, 1)
    for count, _ in enumerate(loader, start=1):
        if count == 2:
            break
    point = Checkpoint(loader, 1)
    seed_everything(999)
    again = headrace.DataLoader(Numbers(), **named)
    again.load_state_dict(point.state)
    torch.set_rng_state(point.torch)
    assert_same(iterate(again, 2), [stock[1][2:], stock[2]])


def test_state_behind_a_break_of_persistent_python_workers(photos):
    """Batches that were asked for and not received have moved the lanes on, as in the stock
    loader's workers; the state waits for them."""
    named = {"batch_size": 4, "shuffle": True, "num_workers": 2, "persistent_workers": True}
    seed_everything()
    loader = headrace.DataLoader(Numbers(), **named)
    for _ in loader:
        break
    iterator = iter(loader)
    point = Checkpoint(loader, 0)
    expected = [copy.deepcopy(batch) for batch in iterator]
    seed_everything(999)
    again = headrace.DataLoader(Numbers(), **named)
    again.load_state_dict(point.state)
    torch.set_rng_state(point.torch)
    assert_same(iterate(again, 1), [expected])


@pytest.mark.parametrize("kind", ["shuffled", "no-workers", "python-stage", "stream"])
def test_load_behind_iter_rewinds(photos, kind):
    """Some frameworks call iter() before they restore."""
    seed_everything()
    seen, points = run_with_checkpoints(loader_of(kind, photos))
    epoch, received, point = points[3]
    loader = loader_of(kind, photos)
    iterator = iter(loader)
    next(iterator)
    loader.load_state_dict(point.state)
    torch.set_rng_state(point.torch)
    assert_same([copy.deepcopy(batch) for batch in iterator], seen[epoch][received:])


def test_state_is_what_was_received_not_what_was_prefetched(photos):
    loader = headrace.DataLoader(images(photos), 2, num_workers=2, prefetch_factor=4)
    iterator = iter(loader)
    assert loader.state_dict()["batches"] == 0
    next(iterator)
    assert loader.state_dict()["batches"] == 1


def test_state_behind_a_break(photos):
    loader = headrace.DataLoader(images(photos), 2, num_workers=2)
    for count, _ in enumerate(loader, start=1):
        if count == 3:
            break
    assert loader.state_dict()["batches"] == 3


def test_state_is_small(photos):
    loader = headrace.DataLoader(images(photos), 2, shuffle=True, num_workers=2)
    next(iter(loader))
    assert len(json.dumps(loader.state_dict())) < 400


def test_loaded_state_is_the_state(photos):
    loader = headrace.DataLoader(images(photos), 2, shuffle=True, num_workers=2)
    next(iter(loader))
    state = loader.state_dict()
    again = headrace.DataLoader(images(photos), 2, shuffle=True, num_workers=2)
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_end_of_epoch_is_a_whole_next_epoch(photos):
    loader = headrace.DataLoader(images(photos), 4, num_workers=2)
    list(loader)
    again = headrace.DataLoader(images(photos), 4, num_workers=2)
    again.load_state_dict(loader.state_dict())
    assert len(list(again)) == len(loader)


def test_resume_with_missing_samples(own_photos):
    """Rows that the trainer made itself: lanes are then run again up to the place."""
    from PIL import Image

    for path in sorted(own_photos.glob("*/*.jpg"))[::3]:
        with Image.open(path) as image:
            image.load()
        image.save(path, "BMP")

    def make():
        return headrace.DataLoader(images(own_photos), 3, shuffle=True, num_workers=2)

    seed_everything()
    full = iterate(make(), 1)[0]
    seed_everything()
    loader = make()
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    again = make()
    again.load_state_dict(loader.state_dict())
    assert_same(iterate(again, 1)[0], full[3:])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "not the state of a headrace.DataLoader"),
        ({"headrace": 99}, "version 99"),
        ({"headrace": 1, "surprise": 1}, "unknown entries"),
        (
            {"headrace": 1, "num_workers": 2, "mid_epoch": True, "batches": 1, "replicas": 2},
            "of batch_size=None, now 4, and of 2 ranks, now None: its samplers cannot be shared",
        ),
    ],
)
def test_state_of_something_else(photos, state, message):
    loader = headrace.DataLoader(images(photos), 4, num_workers=2)
    with pytest.raises(headrace.StateError, match=message):
        loader.load_state_dict(state)


@pytest.mark.parametrize(
    "kind", ["shuffled", "sample-mode", "in-order", "persistent", "no-workers"]
)
def test_resume_makes_no_sample_again(photos, kind):
    """Nor any number of them at batch 100,000: what workers make is counted."""
    named = KINDS[kind](photos)
    first = headrace.DataLoader(**named)
    iterator = iter(first)
    for _ in range(15):
        next(iterator)
    again = headrace.DataLoader(**named)
    again.load_state_dict(first.state_dict())
    count = len(list(again))
    assert count == len(first) - 15
    REPORT.as_dict()  # brings the numbers in
    assert sum(state_of(again).report.samples_by_worker.values()) == count
