"""Samplers with keys of every kind, whole batches, and iterable data sets."""

import itertools
import random

import numpy as np
import torch
from bits import drain, epochs, say, show, states
from cases import Look, case, looked, main
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    get_worker_info,
)


class Keys(Dataset):
    """Takes any key."""

    def __len__(self):
        return 12

    def __getitem__(self, key):
        return str(key), torch.rand(1)


class Sizes:
    """Multi-scale training: keys with a size, shuffled by `random`."""

    def __init__(self):
        self.begun = 0

    def __len__(self):
        return 12

    def __iter__(self):
        self.begun += 1
        keys = [(i, random.choice([16, 32])) for i in range(12)]
        random.shuffle(keys)
        yield from keys


@case(workers=2, hosts=2, always=True)
def keys_of_index_and_size():
    sampler = Sizes()
    epochs(DataLoader(Keys(), 3, sampler=sampler, num_workers=2), 2)
    say(f"begun {sampler.begun} times, next {random.random()}")


@case()
def keys_of_index_and_size_without_workers():
    sampler = Sizes()
    epochs(DataLoader(Keys(), 3, sampler=sampler), 2)
    say(f"begun {sampler.begun} times, next {random.random()}")


@case(workers=2)
def names_as_keys():
    names = [f"name {i}" for i in range(12)]
    epochs(DataLoader(Keys(), 3, sampler=SubsetRandomSampler(names), num_workers=2), 2)


@case()
def generator_as_sampler():
    keys = ((i, "a") for i in range(12))
    loader = DataLoader(Keys(), 3, sampler=keys, num_workers=2)
    epochs(loader, 2)


@case()
def generator_of_integers_as_sampler():
    loader = DataLoader(Keys(), 3, sampler=(i for i in range(12)), num_workers=2)
    epochs(loader, 2)


@case()
def numpy_integers_as_keys():
    class Permutation:
        def __iter__(self):
            return iter(np.random.permutation(12))

        def __len__(self):
            return 12

    epochs(DataLoader(Keys(), 3, sampler=Permutation(), num_workers=2), 2)
    epochs(DataLoader(Keys(), 3, sampler=Permutation()), 2)


@case()
def tensors_as_keys():
    epochs(DataLoader(Keys(), 3, sampler=torch.randperm(12), num_workers=2), 2)


@case()
def booleans_negative_and_mixed_keys():
    epochs(DataLoader(Keys(), 2, sampler=[True, -1, 3, "x", None, 2.5], num_workers=2))
    epochs(DataLoader(TensorDataset(torch.arange(5)), 2, sampler=[-1, True, 0], num_workers=1))


@case()
def slices_as_keys():
    data = TensorDataset(torch.arange(12.0))
    loader = DataLoader(data, None, sampler=[slice(0, 4), slice(4, 12, 2)], num_workers=2)
    epochs(loader, 2)


@case(workers=2)
def batches_of_a_batch_sampler_with_pairs():
    class Pairs:
        def __iter__(self):
            for start in range(0, 12, 3):
                size = random.choice([8, 16])
                yield [(start + k, size) for k in range(3)]

    epochs(DataLoader(Keys(), batch_sampler=Pairs(), num_workers=2), 2)


@case()
def batches_of_unequal_sizes():
    batches = [[0], [1, 2, 3], [], [4, 5]]
    looked(lambda i: i, batch_size=1, batch_sampler=batches, collate_fn=list)


@case()
def lists_as_samples_of_a_loader_without_batches():
    class Lists(Dataset):
        def __getitem__(self, keys):
            return torch.tensor(keys) * 2

    sampler = BatchSampler(RandomSampler(range(12)), 4, True)
    epochs(DataLoader(Lists(), None, sampler=sampler, num_workers=2), 2)


@case(workers=2)
def whole_batches_by_the_data_set():
    class Whole(Look):
        def __getitems__(self, indices):
            return [(i, torch.rand(1)) for i in sorted(indices)]

    loader = DataLoader(Whole(lambda i: i), 3, shuffle=True, num_workers=2)
    epochs(loader, 2)


@case()
def sampler_that_draws_from_every_generator():
    class Draws:
        def __iter__(self):
            for _ in range(8):
                yield int(torch.randint(8, ()) + np.random.randint(8) + random.randrange(8)) % 8

    for workers in (0, 2):
        looked(lambda i: torch.rand(1), 2, sampler=Draws(), num_workers=workers)


@case()
def sampler_that_never_ends():
    class Endless:
        def __iter__(self):
            while True:
                yield random.randrange(8)

    for _ in range(2):
        loader = DataLoader(Look(lambda i: i), 2, sampler=Endless(), num_workers=2)
        epochs(loader, stop=5)


@case()
def sampler_with_a_place():
    class Placed:
        def __init__(self):
            self.at = 0

        def __iter__(self):
            while self.at < 8:
                self.at += 1
                yield self.at - 1
            self.at = 0

    sampler = Placed()
    loader = DataLoader(Look(lambda i: i), 2, sampler=sampler, num_workers=1)
    epochs(loader, stop=2)
    say(str(sampler.at))
    epochs(loader, 2)


@case()
def samplers_of_torch():
    data = Look(lambda i: torch.rand(1), 12)
    samplers = (
        RandomSampler(data, replacement=True, num_samples=7),
        WeightedRandomSampler([1.0, 2.0, 3.0], 9),
        SubsetRandomSampler([1, 5, 7, 2]),
    )
    for sampler in samplers:
        epochs(DataLoader(data, 2, sampler=sampler, num_workers=2), 2)


@case(hosts=2, always=True)
def sampler_of_a_rank():
    data = Look(lambda i: torch.rand(1), 11)
    sampler = DistributedSampler(data, 2, 1, seed=3)
    epochs(DataLoader(data, 2, sampler=sampler, num_workers=2), 2, before=sampler.set_epoch)


class Stream(IterableDataset):
    def __init__(self, n=11):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        step, start = (info.num_workers, info.id) if info else (1, 0)
        for i in range(start, self.n, step):
            yield i, torch.rand(1), random.random()


@case(workers=2, hosts=2, always=True)
def stream_by_worker():
    epochs(DataLoader(Stream(), 2, num_workers=2), 2)


@case()
def stream_without_workers():
    epochs(DataLoader(Stream(), 2), 2)


@case(workers=2)
def stream_of_persistent_workers():
    epochs(DataLoader(Stream(), 2, num_workers=2, persistent_workers=True), 3)


@case()
def stream_with_unequal_ends_and_drop_last():
    epochs(DataLoader(Stream(7), 3, num_workers=3, drop_last=True), 2)


@case()
def stream_that_is_the_same_in_every_worker():
    class Same(IterableDataset):
        def __iter__(self):
            return iter(range(5))

    epochs(DataLoader(Same(), 2, num_workers=2), 2)


@case()
def stream_with_a_length():
    class Sized(Stream):
        def __len__(self):
            return 4

    loader = DataLoader(Sized(11), 2, num_workers=2)
    say(str(len(loader)))
    epochs(loader)


@case()
def stream_without_batches():
    epochs(DataLoader(Stream(), None, num_workers=2), 2)


@case()
def stream_that_never_ends():
    class Endless(IterableDataset):
        def __iter__(self):
            return (torch.rand(1) + n for n in itertools.count())

    for _ in range(2):
        epochs(DataLoader(Endless(), 2, num_workers=2), stop=5)


@case()
def stream_that_is_its_own_iterator():
    class Own(IterableDataset):
        at = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.at += 1
            if self.at > 6:
                raise StopIteration
            return self.at

    loader = DataLoader(Own(), 2, num_workers=2)
    epochs(loader, 2)
    epochs(DataLoader(Own(), 2), 2)


@case()
def stream_that_shuffles_a_buffer():
    class Shuffled(IterableDataset):
        def __iter__(self):
            buffer = []
            for i in range(12):
                buffer.append(i)
                if len(buffer) > 4:
                    yield buffer.pop(random.randrange(len(buffer)))
            yield from buffer

    epochs(DataLoader(Shuffled(), 2, num_workers=2), 2)


@case()
def loaders_side_by_side():
    a = DataLoader(Look(lambda i: torch.rand(1)), 2, shuffle=True, num_workers=2)
    b = DataLoader(Stream(8), 2, num_workers=1)
    for number, pair in enumerate(zip(a, b, strict=False)):
        show(pair, f"pair {number}")
    states()


@case(workers=2)
def a_loader_in_a_loader():
    outer = DataLoader(Look(lambda i: torch.rand(1), 4), 2, shuffle=True, num_workers=1)
    inner = DataLoader(Look(lambda i: torch.rand(1), 6), 3, shuffle=True, num_workers=2)
    for number, batch in enumerate(outer):
        show(batch, f"outer {number}")
        epochs(inner)
    states()


@case(workers=2)
def two_iterators_of_one_loader():
    loader = DataLoader(Look(lambda i: torch.rand(1)), 2, shuffle=True, num_workers=2)
    one, two = iter(loader), iter(loader)
    for _ in range(4):
        show(next(one), "one")
        show(next(two), "two")
    states()


@case(always=True)
def two_iterators_of_persistent_workers():
    loader = DataLoader(Look(lambda i: torch.rand(1)), 2, num_workers=2, persistent_workers=True)
    one = iter(loader)
    show(next(one))
    two = iter(loader)
    say(str(one is two))
    drain(two)


@case(workers=2)
def epochs_that_are_broken_off():
    loader = DataLoader(Look(lambda i: torch.rand(1), 20), 2, shuffle=True, num_workers=2)
    epochs(loader, 4, stop=3)
    epochs(loader)


@case()
def epochs_of_persistent_workers_that_are_broken_off():
    loader = DataLoader(
        Look(lambda i: torch.rand(1), 20), 2, shuffle=True, num_workers=2, persistent_workers=True
    )
    epochs(loader, 3, stop=3)
    epochs(loader)


@case()
def iterator_that_is_made_and_not_used():
    loader = DataLoader(Look(lambda i: torch.rand(1)), 2, shuffle=True, num_workers=2)
    iter(loader)
    states()
    epochs(loader)


@case()
def iterator_after_its_end():
    iterator = iter(DataLoader(Look(lambda i: i), 4, num_workers=2))
    for _ in range(5):
        show(next(iterator, "the end"))


@case()
def the_loop_draws_between_batches():
    for workers in (0, 2):
        loader = DataLoader(Look(lambda i: torch.rand(1)), 2, shuffle=True, num_workers=workers)
        dropout = torch.nn.Dropout(0.5)

        def each(epoch, number, batch):
            show(dropout(torch.ones(4)), "dropout")  # noqa: B023
            random.random(), np.random.rand()

        epochs(loader, 2, each=each)


if __name__ == "__main__":
    main()
