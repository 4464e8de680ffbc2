"""Foreseen keys are those that the sampler then yields, and foreseeing them shows nowhere."""

import itertools
import random

import pytest
import torch
from headrace.serve.keys_ahead import KeysAhead
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

COUNT = 23
DATA = TensorDataset(torch.arange(COUNT))


def own() -> torch.Generator:
    return torch.Generator().manual_seed(4)


def ahead_of(loader: DataLoader) -> KeysAhead | None:
    return KeysAhead.of(loader._index_sampler, loader.dataset)


SAMPLERS = {
    "sequential": lambda: SequentialSampler(DATA),
    "random": lambda: RandomSampler(DATA),
    "own generator": lambda: RandomSampler(DATA, generator=own()),
    "replacement": lambda: RandomSampler(DATA, replacement=True, num_samples=50),
    "replacement, own": lambda: RandomSampler(DATA, True, 70, generator=own()),
    "the program's generator": lambda: RandomSampler(DATA, generator=torch.default_generator),
    "more than there are": lambda: RandomSampler(DATA, num_samples=60),
    "subset": lambda: SubsetRandomSampler(range(3, 20)),
    "subset, own": lambda: SubsetRandomSampler(torch.arange(3, 20), generator=own()),
    "weighted": lambda: WeightedRandomSampler([1.0, 2.0] * 9, 30),
    "distributed": lambda: DistributedSampler(DATA, 2, 1),
}


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("name", SAMPLERS)
def test_what_each_of_torchs_samplers_yields(name, drop_last):
    torch.manual_seed(9)
    loader = DataLoader(DATA, 4, sampler=SAMPLERS[name](), drop_last=drop_last)
    before = torch.get_rng_state()
    ahead = ahead_of(loader)
    foreseen = [ahead.peek(place) for place in range(3)]
    assert torch.equal(torch.get_rng_state(), before)
    batches = list(loader.batch_sampler)
    assert foreseen == batches[:3]
    assert all(ahead.passed(batch) for batch in batches)
    assert ahead.peek(0) is None


def test_a_sampler_of_the_programs_own_is_not_foreseen():
    class Mine(RandomSampler):
        pass

    class Sized:
        def __len__(self):
            raise AssertionError("the program's own code ran")

    assert ahead_of(DataLoader(DATA, 4, sampler=Mine(DATA))) is None
    assert ahead_of(DataLoader(DATA, 4, sampler=range(5))) is None
    assert ahead_of(DataLoader(DATA, batch_sampler=[[1, 2]])) is None
    assert ahead_of(DataLoader(DATA, batch_size=None)) is None
    assert ahead_of(DataLoader(DATA, 4, sampler=SequentialSampler(Sized()))) is None

    class Batches(BatchSampler):
        pass

    batches = Batches(SequentialSampler(DATA), 4, False)
    assert ahead_of(DataLoader(DATA, batch_sampler=batches)) is None


def test_a_batch_size_that_is_changed_on_the_way_is_noticed():
    loader = DataLoader(DATA, 4)
    ahead = ahead_of(loader)
    batches = iter(loader.batch_sampler)
    assert ahead.peek(2) == [8, 9, 10, 11]
    assert ahead.passed(next(batches))
    loader.batch_sampler.batch_size = 6
    assert not ahead.passed(next(batches))


def test_any_order_of_peeking_and_passing():
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    loader = DataLoader(DATA, 3, shuffle=True)
    ahead = ahead_of(loader)
    batches = list(loader.batch_sampler)
    for at in itertools.count():
        for _ in range(rng.randrange(3)):
            place = rng.randrange(4)
            assert ahead.peek(place) == (batches[at:] + [None] * 4)[place]
        if at == len(batches):
            break
        if rng.random() < 0.4:
            ahead.skip()
        else:
            assert ahead.passed(batches[at])
