"""Contract: samplers run in the trainer, lazily, at most prefetch_factor * num_workers ahead."""

import pytest
import torch
from support.compare import batches, check
from support.pipelines import evaluate_v1, train_v1
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
from torchvision import datasets


class Watched:
    """Notes how many keys it was asked for; may have no end."""

    def __init__(self, keys):
        self.keys = keys
        self.taken = 0

    def __iter__(self):
        for key in self.keys:
            self.taken += 1
            yield key


@pytest.mark.parametrize(("num_workers", "prefetch_factor"), [(1, 2), (2, 3)])
def test_is_not_run_further_ahead_than_the_stock_loader(photos, num_workers, prefetch_factor):
    data = datasets.ImageFolder(photos, evaluate_v1())

    def taken(loader_class):
        sampler = Watched(range(27))
        loader = loader_class(
            data,
            batch_size=2,
            sampler=sampler,
            num_workers=num_workers,
            prefetch_factor=prefetch_factor,
        )
        counts = []
        for _ in loader:
            counts.append(sampler.taken)
        return counts

    import headrace

    headrace.uninstall()
    expected = taken(DataLoader)
    headrace.install()
    try:
        assert taken(DataLoader) == expected
    finally:
        headrace.uninstall()


def test_without_workers_an_unknown_sampler_is_asked_when_the_batch_is_wanted(photos, seam):
    sampler = Watched(range(27))
    loader = DataLoader(datasets.ImageFolder(photos, evaluate_v1()), 2, sampler=sampler)
    iterator = iter(loader)
    assert sampler.taken == 0
    for k in range(1, 5):
        next(iterator)
        assert sampler.taken == 2 * k


def test_endless_sampler(photos, seam):
    import itertools

    data = datasets.ImageFolder(photos, evaluate_v1())
    loader = DataLoader(data, 4, sampler=Watched(itertools.cycle(range(27))), num_workers=2)
    labels = [batch[1] for batch in itertools.islice(loader, 20)]
    assert torch.cat(labels).tolist() == [data.targets[k % 27] for k in range(80)]


def test_batch_sampler_with_batches_of_any_size(photos):
    data = datasets.ImageFolder(photos, train_v1())
    plan = [[0], [1, 2, 3, 4, 5], [26, 25], [7] * 6]
    seen = check(lambda loader: loader(data, batch_sampler=plan, num_workers=2))
    assert [len(batch[1]) for batch in batches(seen)] == [1, 5, 2, 6] * 2


def test_batch_sampler_object(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(
        lambda loader: loader(
            data, batch_sampler=BatchSampler(range(0, 27, 2), 3, True), num_workers=2
        )
    )


def test_keys_of_numpy_and_torch(photos):
    import numpy as np

    data = datasets.ImageFolder(photos, train_v1())
    keys = [np.int64(3), torch.tensor(5), 7, np.int32(0)]
    check(lambda loader: loader(data, batch_size=2, sampler=keys, num_workers=1))


@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler_and_set_epoch(photos, drop_last):
    """All ranks see the same number of steps, and each epoch another order."""
    data = datasets.ImageFolder(photos, train_v1())

    def set_epoch(loader, epoch):
        loader.sampler.set_epoch(epoch)

    steps = []
    for rank in range(2):
        seen = check(
            lambda loader, rank=rank: loader(
                data,
                batch_size=4,
                num_workers=2,
                sampler=DistributedSampler(data, 2, rank, drop_last=drop_last),
            ),
            before=set_epoch,
        )
        steps.append(len(batches(seen)))
    assert steps[0] == steps[1]


def test_sampler_that_depends_on_training(photos, seam):
    """A curriculum: what is drawn depends on what the program did so far."""
    difficulty = [0]

    class Curriculum:
        def __iter__(self):
            for _ in range(12):
                yield difficulty[0]

    data = datasets.ImageFolder(photos, evaluate_v1())
    loader = DataLoader(data, batch_size=1, sampler=Curriculum())
    labels = []
    for _, label in loader:
        labels.append(label.item())
        difficulty[0] += 2
    assert labels == [data.targets[k] for k in range(0, 24, 2)]


@pytest.mark.parametrize("batch_size", [6, 9])
@pytest.mark.parametrize("stop", [2, 3, 4])
def test_break_near_the_end_without_workers(photos, batch_size, stop):
    """RandomSampler draws from its generator when its last key is taken: not before its time."""
    data = datasets.ImageFolder(photos, evaluate_v1())
    check(
        lambda loader: loader(
            data,
            batch_size,
            shuffle=True,
            drop_last=True,
            generator=torch.Generator().manual_seed(3),
        ),
        stop=stop,
        epochs=3,
    )
