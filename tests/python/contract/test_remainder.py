"""Contract: a state may be loaded with other numbers of ranks, of workers and of samples a batch. What
is left of the epoch is seen once.

HEADRACE_TEST_SEED=N runs the cases of seed N again.
"""

import json
import os
import random

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from support.compare import assert_same
from support.extent import share
from support.pipelines import Numbers, train_v1
from torch.utils.data import DistributedSampler, IterableDataset, RandomSampler, TensorDataset
from torchvision import datasets

SEED = int(os.environ.get("HEADRACE_TEST_SEED") or random.SystemRandom().randrange(2**32))
CASES = 60 if "HEADRACE_TEST_SEED" in os.environ else share(60)


class Run:
    """All ranks of one start of a training program, in the middle of `epoch`."""

    def __init__(self, dice, count, epoch, drop_last=False):
        self.world = dice.randint(1, 5)
        self.batch_size = dice.randint(1, 4)
        self.loaders = []
        for rank in range(self.world):
            data = TensorDataset(torch.arange(count))
            sampler = DistributedSampler(data, self.world, rank, seed=7, drop_last=drop_last)
            sampler.set_epoch(epoch)
            self.loaders.append(
                headrace.DataLoader(
                    data, self.batch_size, sampler=sampler, num_workers=dice.randrange(3)
                )
            )

    def load(self, state):
        for loader in self.loaders:
            loader.load_state_dict(state)

    def step(self, most):
        """What each rank sees in `most` batches, and the state: the same one of any rank."""
        seen, states = [], []
        for loader in self.loaders:
            seen.append([])
            for _, (keys,) in zip(range(most), loader, strict=False):
                seen[-1].append(keys.tolist())
            states.append(loader.state_dict())
        for state in states:
            for own in ("base_seed", "num_workers", "lanes_from"):
                state.pop(own, None)
        assert states == [states[0]] * self.world
        return seen, json.loads(json.dumps(self.loaders[0].state_dict()))

    def rest(self):
        return [[keys.tolist() for (keys,) in loader] for loader in self.loaders]


def keys_of(seen):
    return [key for rank in seen for batch in rank for key in batch]


def test_what_is_left_is_seen_once_by_any_number_of_ranks():
    dice = random.Random(SEED)
    print("HEADRACE_TEST_SEED", SEED)
    for case in range(CASES):
        count, epoch = dice.randint(1, 60), dice.randrange(3)
        seen: list[int] = []
        state = None
        for _ in range(dice.randint(1, 3)):  # starts that end early
            run = Run(dice, count, epoch)
            if state is not None:
                run.load(state)
            # The ranks end together, in front of the batches that repeat keys to be even.
            left = count - len(seen)
            most = left // (run.world * run.batch_size)
            got, state = run.step(dice.randint(0, most))
            seen += keys_of(got)
        assert len(set(seen)) == len(seen), f"case {case}"
        last = Run(dice, count, epoch)
        last.load(state)
        rest = last.rest()
        assert len({len(batches) for batches in rest}) == 1, "the ranks make as many steps"
        left = set(range(count)) - set(seen)
        got = keys_of(rest)
        # To be even, the last ranks repeat some key.
        assert left <= set(got) and len(got) - len(left) < last.world, f"case {case}"
        again = last.rest()  # the next epoch is whole
        assert set(keys_of(again)) == set(range(count))


def test_drop_last_leaves_out_less_than_one_key_a_rank():
    dice = random.Random(SEED)
    print("HEADRACE_TEST_SEED", SEED)
    for _ in range(CASES // 3):
        count = dice.randint(20, 60)
        run = Run(dice, count, 1, drop_last=True)
        got, state = run.step(dice.randint(0, count // (run.world * run.batch_size)))
        last = Run(dice, count, 1, drop_last=True)
        last.load(state)
        seen = keys_of(got) + keys_of(last.rest())
        assert len(set(seen)) == len(seen) > count - last.world


def numbered(photos):
    """Pictures whose labels are their keys."""
    data = datasets.ImageFolder(photos, train_v1())
    data.samples = [(path, key) for key, (path, _) in enumerate(data.samples)]
    return data


def labels(batches):
    return [
        int(key) for batch in batches for key in (batch["index"] if "index" in batch else batch[1])
    ]


@pytest.mark.parametrize(
    ("kind", "before", "after", "batch_size"),
    [
        ("native", 2, 1, 3),
        ("native", 2, 3, 3),
        ("native", 2, 3, 4),
        ("native", 1, 0, 3),
        ("native", 2, 2, 4),
        ("python", 2, 3, 3),
        ("python", 2, 1, 4),
    ],
)
def test_other_number_of_workers(photos, kind, before, after, batch_size, capfd):
    data = numbered(photos) if kind == "native" else Numbers(27)

    def make(num_workers, batch_size):
        return headrace.DataLoader(data, batch_size, shuffle=True, num_workers=num_workers)

    first = make(before, 3)
    iterator = iter(first)
    seen = [next(iterator) for _ in range(4)]
    capfd.readouterr()
    second = make(after, batch_size)
    second.load_state_dict(first.state_dict())
    said = capfd.readouterr().err
    assert "goes on with the same samples and other random numbers" in said
    assert (f"num_workers={before}, now {after}" in said) == (before != after)
    assert (f"batch_size=3, now {batch_size}" in said) == (batch_size != 3)
    iterator = iter(second)
    seen += [next(iterator) for _ in range(2)]
    state, program = second.state_dict(), torch.get_rng_state()
    rest = list(iterator)
    assert sorted(labels(seen + rest)) == list(range(27))
    assert state_of(second).report.path == kind
    # From here on it is exact again.
    third = make(after, batch_size)
    third.load_state_dict(state)
    if after == 0:  # it draws from the program's own generator, whose state is the program's
        torch.set_rng_state(program)
    assert_same(list(third), rest)


def test_sample_mode_keeps_its_random_numbers(photos):
    def make(num_workers, batch_size):
        return headrace.DataLoader(
            numbered(photos),
            batch_size,
            shuffle=True,
            num_workers=num_workers,
            rng="sample",
        )

    torch.manual_seed(3)
    whole = make(2, 3)
    expected = torch.cat([batch[0] for batch in whole])
    torch.manual_seed(3)
    first = make(2, 3)
    iterator = iter(first)
    for _ in range(4):
        next(iterator)
    second = make(1, 5)
    second.load_state_dict(first.state_dict())
    assert torch.equal(torch.cat([batch[0] for batch in second]), expected[12:])


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(20))


class Pairs:
    """A batch sampler of the program's own."""

    def __init__(self, shift):
        self.shift = shift

    def __iter__(self):
        return iter([[i, i + self.shift] for i in range(8)])


def test_what_cannot_go_on():
    stream = headrace.DataLoader(Stream(), 2, num_workers=1)
    next(iter(stream))
    with pytest.raises(headrace.StateError, match="an IterableDataset cannot go on so"):
        headrace.DataLoader(Stream(), 2).load_state_dict(stream.state_dict())
    data = TensorDataset(torch.arange(10))
    plain = headrace.DataLoader(data, 2)
    next(iter(plain))
    for other in (
        headrace.DataLoader(data, 2, sampler=DistributedSampler(data, 2, 0)),
        headrace.DataLoader(data, batch_sampler=Pairs(1)),
    ):
        with pytest.raises(headrace.StateError, match="cannot be shared out anew"):
            other.load_state_dict(plain.state_dict())


def test_another_batch_size_of_an_own_generator():
    def make(batch_size):
        data = TensorDataset(torch.arange(20))
        sampler = RandomSampler(data, generator=torch.Generator().manual_seed(4))
        return headrace.DataLoader(data, batch_size, sampler=sampler)

    expected = torch.cat([keys for (keys,) in make(1)])
    first = make(3)
    iterator = iter(first)
    for _ in range(3):
        next(iterator)
    second = make(2)
    second.load_state_dict(first.state_dict())
    assert torch.equal(torch.cat([keys for (keys,) in second]), expected[9:])
