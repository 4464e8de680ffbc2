"""Native plans that are compared while they are used: what is found, and what is done about it."""

import os

import headrace
import pytest
import torch
from headrace.admission import admission, comparison, reference_process
from headrace.admission.asks import Start
from headrace.admission.reference import Reference
from headrace.loader.seam import state_of
from headrace.service.options import from_environment
from support.compare import check
from support.pipelines import evaluate_v1, train_v1
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets


@pytest.fixture(autouse=True)
def _forget():
    admission._verdicts.clear()
    yield
    admission._verdicts.clear()


@pytest.fixture
def every_batch(monkeypatch):
    monkeypatch.setenv("HEADRACE_COMPARE", "1")


def counts(loader):
    report = state_of(loader).report
    return report.compared_samples, report.different_samples


def folder(photos, transform, **named):
    loader = headrace.DataLoader(datasets.ImageFolder(photos, transform), 4, **named)
    return loader


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("rng", ["torch", "sample"])
def test_every_batch_is_compared_in_its_own_random_state(photos, every_batch, num_workers, rng):
    """Over epochs with a session of their own, and over those of persistent workers."""
    for persistent in (False, True):
        loader = folder(
            photos,
            train_v1(),
            num_workers=num_workers,
            rng=rng,
            shuffle=True,
            persistent_workers=persistent,
        )
        for _ in range(2):
            list(loader)
        assert state_of(loader).report.path == "native"
        compared, different = counts(loader)
        assert different == 0 and compared >= 4 * 4  # a batch may come while four are waiting


def test_samples_drawn_again_in_an_epoch(photos, every_batch):
    data = datasets.ImageFolder(photos, train_v1())
    sampler = [0, 5, 5, 0, 3, 0, 5, 1]
    loader = headrace.DataLoader(data, 4, sampler=sampler, num_workers=1, rng="sample")
    list(loader)
    assert counts(loader) == (8, 0)


def test_arrays_and_labels(every_batch):
    data = TensorDataset(torch.arange(24.0).reshape(12, 2), torch.arange(12))
    loader = headrace.DataLoader(data, 4, num_workers=1)
    list(loader)
    assert counts(loader) == (12, 0)


def test_first_batch_of_each_worker_and_a_share(photos, monkeypatch):
    """A worker's first batch is compared once a plan; afterwards a share of its batches, over
    epochs."""
    monkeypatch.setenv("HEADRACE_COMPARE", "10")
    loader = folder(photos, evaluate_v1(), num_workers=1)
    seen = []
    for _ in range(3):  # of seven batches
        list(loader)
        seen.append(counts(loader)[0])
    assert seen == [4, 8, 12]  # batches 1; 10; 20


def test_nothing_is_forked_where_nothing_is_due(photos, monkeypatch, seam):
    loader = DataLoader(datasets.ImageFolder(photos, evaluate_v1()), 4, num_workers=1)
    list(loader)
    started = []
    real = Reference.start
    monkeypatch.setattr(Reference, "start", lambda self: started.append(1) or real(self))
    list(loader)
    assert started == [] and counts(loader) == (4, 0)


def test_off(photos, monkeypatch, seam):
    monkeypatch.setenv("HEADRACE_COMPARE", "0")
    loader = DataLoader(datasets.ImageFolder(photos, evaluate_v1()), 4, num_workers=1)
    list(loader)
    assert counts(loader) == (0, 0)


@pytest.fixture
def other_samples(monkeypatch):
    """The reference's sample 9 is brighter than the workers'."""
    real = reference_process._make

    def make(dataset, ask):
        value, error = real(dataset, ask)
        wrong = ask.key == 9 and ask.length is None
        return ((value[0] + 1, value[1]) if wrong else value), error

    monkeypatch.setattr(reference_process, "_make", make)
    monkeypatch.setattr(admission, "keys_to_try", lambda rows: [0])


def test_difference_is_an_error_that_names_it(photos, every_batch, other_samples, seam):
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=2)
    with pytest.raises(
        headrace.SamplesDiffer,
        match=r"sample 9 of batch 2, made by worker \d+, .* field 0 differs.*HEADRACE_ON_DIFFERENCE",
    ):
        for _ in loader:
            pass
    assert counts(loader)[1] == 1


def test_difference_that_shows_at_the_end(photos, every_batch, other_samples, seam):
    """The last batch's are waited for."""
    data = datasets.ImageFolder(photos, train_v1())
    loader = DataLoader(data, 4, sampler=[9, 1, 2, 3], num_workers=1)
    iterator = iter(loader)
    with pytest.raises(headrace.SamplesDiffer):
        for _ in range(2):
            next(iterator)
    assert list(loader)  # no native plan any more


def test_difference_as_a_line(photos, every_batch, other_samples, monkeypatch, capsys, seam):
    """The epoch goes on, and the next one has no native plan."""
    monkeypatch.setenv("HEADRACE_ON_DIFFERENCE", "warn")
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=2)
    assert len(list(loader)) == 7
    assert "sample 9 of batch 2" in capsys.readouterr().err
    report = state_of(loader).report
    assert report.path == "native" and report.different_samples == 1
    list(loader)
    assert report.path != "native"


def test_sample_that_raises_there_and_not_natively(photos, every_batch, monkeypatch, seam):
    real = reference_process._make

    def make(dataset, ask):
        if ask.key == 9:
            ask = type(ask)("no such key", ask.start)
        return real(dataset, ask)

    monkeypatch.setattr(reference_process, "_make", make)
    monkeypatch.setattr(admission, "keys_to_try", lambda rows: [0])
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=2)
    with pytest.raises(headrace.SamplesDiffer, match="sample 9 .* it raises there"):
        list(loader)


def test_damaged_files_are_no_difference(own_photos, every_batch):
    """The reference makes them for the program itself: the same errors at the same places, and its
    draws after them."""
    paths = sorted(own_photos.glob("*/*"))
    for path in (paths[2], paths[7]):
        path.write_bytes(path.read_bytes()[:-900])
    data = datasets.ImageFolder(own_photos, train_v1())
    for num_workers in (1, 2):
        check(lambda loader, n=num_workers: loader(data, 4, shuffle=True, num_workers=n))


def test_reference_that_dies_is_no_error_of_the_program(photos, every_batch, monkeypatch, seam):
    real = reference_process._make

    def make(dataset, ask):
        if ask.key == 9:
            os._exit(3)
        return real(dataset, ask)

    monkeypatch.setattr(reference_process, "_make", make)
    monkeypatch.setattr(admission, "keys_to_try", lambda rows: [0])
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=2)
    assert len(list(loader)) == 7
    (reason,) = state_of(loader).report.reasons
    assert "is not compared any more" in reason and "exit code 3" in reason


def test_options():
    assert from_environment({}).compare == 256 and from_environment({}).on_difference == "raise"
    chosen = from_environment({"HEADRACE_COMPARE": "0", "HEADRACE_ON_DIFFERENCE": "warn"})
    assert chosen.compare == 0 and chosen.on_difference == "warn"
    with pytest.raises(headrace.OptionError, match="HEADRACE_ON_DIFFERENCE='stop': write one of"):
        from_environment({"HEADRACE_ON_DIFFERENCE": "stop"})
    assert comparison.GO_ON == Start()
