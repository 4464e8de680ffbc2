"""Contract: arguments, attributes and lengths are torch's own."""

import headrace
import pytest
import torch
from support.compare import check
from support.pipelines import train_v1
from torch.utils.data import DataLoader, IterableDataset, TensorDataset
from torchvision import datasets

DATA = TensorDataset(torch.arange(10))


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


def test_one_batch_ahead(photos):
    """The smallest window there is."""
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, 4, shuffle=True, num_workers=1, prefetch_factor=1))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (DATA, {"prefetch_factor": 2}),
        (DATA, {"persistent_workers": True}),
        (DATA, {"num_workers": -1}),
        (DATA, {"timeout": -1}),
        (DATA, {"shuffle": True, "sampler": range(3)}),
        (DATA, {"batch_sampler": [[1]], "batch_size": 2}),
        (DATA, {"batch_sampler": [[1]], "shuffle": True}),
        (DATA, {"batch_sampler": [[1]], "drop_last": True}),
        (DATA, {"batch_size": None, "drop_last": True}),
        (DATA, {"multiprocessing_context": "fork"}),
        (DATA, {"multiprocessing_context": "sporks", "num_workers": 1}),
        (Stream(), {"shuffle": True}),
        (Stream(), {"sampler": range(3)}),
        (Stream(), {"batch_sampler": [[1]]}),
    ],
)
def test_refused_as_torch_refuses_it(data, named):
    with pytest.raises(ValueError) as expected:
        DataLoader(data, **named)
    with pytest.raises(ValueError) as raised:
        headrace.DataLoader(data, **named)
    assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_attributes_that_may_not_be_set(name):
    loader = headrace.DataLoader(DATA)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader"):
        setattr(loader, name, None)


def test_default_batch_size_with_a_batch_sampler(seam):
    loader = headrace.DataLoader(DATA, batch_size=1, batch_sampler=[[3, 1], [2]])
    assert [batch[0].tolist() for batch in loader] == [[3, 1], [2]]


def test_every_argument_is_an_attribute():
    """Frameworks rebuild loaders from their attributes."""
    generator = torch.Generator()
    named = {
        "batch_size": 2,
        "num_workers": 1,
        "prefetch_factor": 3,
        "generator": generator,
        "rng": "sample",
        "in_order": False,
    }
    loader = headrace.DataLoader(DATA, **named)
    assert {name: getattr(loader, name) for name in named} == named
    assert isinstance(loader, DataLoader)


def test_unknown_rng():
    with pytest.raises(headrace.OptionError, match="rng='best': write one of auto, torch, sample"):
        headrace.DataLoader(DATA, rng="best")


@pytest.mark.parametrize("drop_last", [False, True])
def test_len(photos, seam, drop_last):
    data = datasets.ImageFolder(photos, train_v1())
    loader = DataLoader(data, batch_size=4, drop_last=drop_last, num_workers=1)
    assert len(loader) == len(iter(loader)) == len(list(loader)) == (6 if drop_last else 7)


def test_multiprocessing_context_is_accepted_and_not_needed(photos, seam):
    data = datasets.ImageFolder(photos, train_v1())
    for context in ("fork", "spawn", "forkserver"):
        loader = DataLoader(data, 4, num_workers=1, multiprocessing_context=context)
        assert len(list(loader)) == 7


def test_pin_memory_without_an_accelerator_warns_as_torch_does(photos, seam):
    if torch.accelerator.is_available():
        data = datasets.ImageFolder(photos, train_v1())
        batch = next(iter(DataLoader(data, 4, num_workers=1, pin_memory=True)))
        assert all(tensor.is_pinned() for tensor in batch)
        return
    data = datasets.ImageFolder(photos, train_v1())
    loader = DataLoader(data, 4, num_workers=1, pin_memory=True)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        iter(loader)


def test_profiler_finds_the_loader_by_its_usual_name(photos, seam):
    data = datasets.ImageFolder(photos, train_v1())
    for num_workers, kind in ((0, "SingleProcess"), (1, "MultiProcessing")):
        with torch.profiler.profile() as profile:
            list(DataLoader(data, 8, num_workers=num_workers))
        names = {event.key for event in profile.key_averages()}
        assert f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__" in names


def test_iterator_cannot_be_pickled(photos, seam):
    import pickle

    iterator = iter(DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=1))
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iterator)


def test_loader_pickles_and_copies():
    import copy
    import pickle

    loader = headrace.DataLoader(DATA, batch_size=3, rng="sample")
    list(loader)
    for again in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        assert again.rng == "sample" and len(list(again)) == 4
