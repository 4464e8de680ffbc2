"""Contract: a program that makes a new loader of the same data for each epoch pays for the first one alone, and
gets the stock loader's batches whatever has changed between them.

Counted are calls in the trainer.
"""

import gc
import importlib
import random
import weakref

import headrace
import numpy as np
import PIL.Image
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.serve import heritage
from headrace.service.report import REPORT
from headrace.service.session import SessionHandle
from support.compare import seed_everything
from torch.utils.data import DataLoader, Dataset, SubsetRandomSampler
from torchvision import transforms


class Numbers(Dataset):
    def __init__(self, offset=0.0):
        self.offset = offset

    def __len__(self):
        return 16

    def __getitem__(self, index):
        if index >= 16:  # a decision by the index, which keeps it Python
            raise IndexError(index)
        return torch.full((3,), index + self.offset) + torch.rand(1)


def listed(samples):
    return [sample.tolist() for sample in samples]


def of(data, **named):
    return DataLoader(data, batch_size=2, num_workers=2, **named)


def batches_of(loaders):
    """Of all loaders, one after the other. Each has gone before the next one begins."""
    seed_everything()
    seen = []
    for make in loaders:
        loader = make()
        seen.append([np.asarray(batch).tolist() for batch in loader])
        del loader
        seen.append((torch.rand(1).item(), random.random()))
    return seen


@pytest.fixture
def counts(monkeypatch, seam):
    """How often sessions are opened, and native forms looked for."""
    made = {"sessions": 0, "looks": 0}
    capture = importlib.import_module("headrace.capture.capture")
    opened, looked = SessionHandle.__init__, capture._native

    def open_one(*args, **named):
        made["sessions"] += 1
        opened(*args, **named)

    def look(*args):
        made["looks"] += 1
        return looked(*args)

    monkeypatch.setattr(SessionHandle, "__init__", open_one)
    monkeypatch.setattr(capture, "_native", look)
    return made


def stock(loaders):
    """The stock loader's."""
    headrace.uninstall()
    try:
        return batches_of(loaders)
    finally:
        headrace.install()


def test_the_next_loader_of_the_same_data_goes_on_with_what_the_first_has_found_out(counts):
    data = Numbers()
    samplers = [None, SubsetRandomSampler(range(8)), SubsetRandomSampler(range(4, 16)), None]
    loaders = [lambda s=s: of(data, sampler=s, collate_fn=listed) for s in samplers]
    served = batches_of(loaders)
    assert counts == {"sessions": 1, "looks": 1}
    assert served == stock(loaders)


def test_each_has_a_report_of_its_own(counts):
    data, before = Numbers(), len(REPORT.as_dict()["loaders"])
    batches_of([lambda: of(data), lambda: of(data, sampler=SubsetRandomSampler(range(6)))])
    reports = REPORT.as_dict()["loaders"][before:]
    assert [one["samples_by_path"]["python"] for one in reports] == [16, 6]
    assert [sum(one["samples_by_worker"].values()) for one in reports] == [16, 6]
    assert [one["epochs"] for one in reports] == [1, 1]


@pytest.mark.parametrize("other", [{"collate_fn": listed}, {"num_workers": 1}, {"batch_size": 3}])
def test_one_that_is_made_otherwise_begins_by_itself(counts, other):
    data = Numbers()
    loaders = [lambda: of(data), lambda: DataLoader(data, **{"num_workers": 2} | other)]
    assert batches_of(loaders) == stock(loaders)
    assert counts["sessions"] == counts["looks"] == 2


def test_one_of_other_data_begins_by_itself(counts):
    loaders = [lambda: of(Numbers()), lambda: of(Numbers(0.5))]
    assert batches_of(loaders) == stock(loaders)
    assert counts["sessions"] == counts["looks"] == 2


def test_data_that_has_changed_in_between_is_looked_at_again(counts):
    def changed(data):
        data.offset = 7.0
        return of(data)

    def loaders():
        data = Numbers()
        return [lambda: of(data), lambda: changed(data)]

    assert batches_of(loaders()) == stock(loaders())
    assert counts == {"sessions": 1, "looks": 2}


def test_two_that_live_at_once_have_a_session_each(counts):
    data = Numbers()
    one, other = of(data), of(data)
    for batch, other_batch in zip(one, other, strict=True):
        assert batch.shape == other_batch.shape
    assert counts["sessions"] == 2


@pytest.mark.parametrize(("bound", "value"), [("_LONG", 0.0), ("_MOST_ARENA_BYTES", 0)])
def test_no_session_waits_for_a_next_loader_after_a_long_epoch_or_with_much_memory(
    counts, monkeypatch, bound, value
):
    monkeypatch.setattr(heritage, bound, value)
    data = Numbers()
    batches_of([lambda: of(data)] * 2)
    assert counts == {"sessions": 2, "looks": 1}


def test_a_loader_that_nobody_holds_leaves_its_session_too(counts):
    data = Numbers()
    seed_everything()
    served = [[np.asarray(batch).tolist() for batch in of(data)] for _ in range(3)]
    assert counts == {"sessions": 1, "looks": 1}
    headrace.uninstall()
    try:
        seed_everything()
        assert served == [[np.asarray(batch).tolist() for batch in of(data)] for _ in range(3)]
    finally:
        headrace.install()


def test_what_a_loader_knows_ends_with_its_iterator_and_not_with_the_next_collection(counts):
    data = Numbers()
    seen = weakref.WeakSet()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            loader = of(data)
            seen.add(state_of(loader))
            iterator = iter(loader)
            del loader
            list(iterator)
            del iterator
        assert not len(seen)
    finally:
        gc.enable()


class Changed(Dataset):
    """Its transforms hold it."""

    def __init__(self):
        self.transform = transforms.Compose(
            [transforms.Resize(8), transforms.Lambda(self.own), transforms.ToTensor()]
        )

    def own(self, image):
        return image.rotate(90)

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index >= 8:
            raise IndexError(index)
        return self.transform(PIL.Image.new("RGB", (16, 16), (index, 2, 3)))


def test_data_whose_transforms_hold_it_goes_when_the_program_lets_it_go(counts, monkeypatch):
    # What is known of found functions holds lists of the program's, and by them the data: ADR 0098.
    monkeypatch.setenv("HEADRACE_FOUND_FUNCTIONS", "off")
    data = Changed()
    for _ in range(3):
        loader = of(data)
        for _ in range(2):
            list(loader)
        del loader
    watched = weakref.ref(data)
    del data
    gc.collect()
    assert watched() is None


def test_nothing_is_left_of_data_that_has_gone(counts):
    data = Numbers()
    loader = of(data)
    list(loader)
    session = state_of(loader).idle[1]
    del loader
    gc.collect()
    assert session.raw is not None, "it waits for the next loader"
    watched = weakref.ref(session)
    del data, session
    gc.collect()
    assert watched() is None
