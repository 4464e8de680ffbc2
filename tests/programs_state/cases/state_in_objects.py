"""State that is kept by methods of objects: properties, descriptors, dunder methods, banks, caches,
generators, base classes, transforms and collate functions."""

import collections
import functools
import heapq
import queue
import random
import weakref
from pathlib import Path

import numpy as np
import torch
from bits import epochs
from cases import case, main
from keeps import Keeps
from torch.utils.data import ChainDataset, ConcatDataset, DataLoader, IterableDataset, Subset


@case(workers=2, hosts=2)
class MemoryBank(Keeps):
    """Mixes with the last sample of its class."""

    def __init__(self):
        super().__init__()
        self.bank = {}

    def __getitem__(self, index):
        other = self.bank.get(index % 5, index)
        self.bank[index % 5] = index
        return torch.tensor([index, other])


@case(workers=2)
class BankByMethod(MemoryBank):
    def __getitem__(self, index):
        other = self.bank.get(index % 5, index)
        self.bank.__setitem__(index % 5, index)
        return torch.tensor([index, other])


@case(workers=2)
class BankByDefault(MemoryBank):
    def __getitem__(self, index):
        kept = self.bank.setdefault(index % 5, [])
        kept.append(index)
        return torch.tensor([index, kept[0]])


@case(workers=2, always=True)
class ReplayBuffer(Keeps):
    def __init__(self):
        super().__init__()
        self.kept = collections.deque(maxlen=4)

    def __getitem__(self, index):
        self.kept.append(index)
        return random.choice(self.kept)


@case(workers=2)
class Heap(Keeps):
    def count(self):
        heapq.heappush(self.log, len(self.log))
        return len(self.log)


@case()
class QueueOfItsOwn(Keeps):
    def __init__(self):
        super().__init__()
        self.queue = queue.Queue()

    def count(self):
        self.queue.put(1)
        return self.queue.qsize()


@case(workers=2)
class CachedList(Keeps):
    @functools.lru_cache  # noqa: B019
    def kept(self):
        return []

    def count(self):
        self.kept().append(1)
        return len(self.kept())


@case()
class WeakTable(Keeps):
    def __init__(self):
        super().__init__()
        self.table = weakref.WeakKeyDictionary()

    def count(self):
        self.table[type(self)] = self.table.get(type(self), 0) + 1
        return self.table[type(self)]


@case(workers=2)
class OwnGenerators(Keeps):
    def __init__(self):
        super().__init__()
        self.numpy, self.random = np.random.default_rng(5), random.Random(6)
        self.torch = torch.Generator().manual_seed(7)

    def __getitem__(self, index):
        draw = torch.rand(1, generator=self.torch).item()
        return self.numpy.random(), self.random.random(), draw


@case(workers=2, always=True)
class GeneratorOfTheClass(Keeps):
    draws = np.random.RandomState(3)

    def __getitem__(self, index):
        return self.draws.rand()


@case(workers=2)
class GeneratorOfTheModule(Keeps):
    def __getitem__(self, index):
        return DRAWS.integers(1000) + np.random.randint(10) + random.randint(0, 10)


DRAWS = np.random.default_rng(11)


class _Base(Keeps):
    def step(self):
        self.n += 1


@case(workers=2)
class BySuper(_Base):
    def step(self):
        super().step()

    def count(self):
        self.step()
        return self.n


@case(workers=2)
class ByUnboundMethod(_Base):
    def count(self):
        _Base.step(self)
        return self.n


@case(workers=2)
class ByMethodTable(_Base):
    def count(self):
        {"up": self.step}["up"]()
        return self.n


@case(workers=2)
class FileRead(Keeps):
    """An open file has a place."""

    def __init__(self):
        super().__init__()
        Path("numbers.txt").write_text("\n".join(map(str, range(100))))

    def __getitem__(self, index):
        if not hasattr(self, "file"):
            self.file = open("numbers.txt")
        return index, int(self.file.readline())


@case(workers=2)
class FirstSampleFixesTheRest(Keeps):
    def __getitem__(self, index):
        if not hasattr(self, "first"):
            self.first = index
        return index, self.first


@case(workers=2)
class Curriculum(Keeps):
    def __getitem__(self, index):
        self.log.append(index)
        return index + 1000 * (len(self.log) // 6)


class _Transform:
    def __init__(self):
        self.calls = 0

    def __call__(self, value):
        self.calls += 1
        return value + 1000 * max(0, self.calls - 5)


@case(workers=2, hosts=2)
class StateOfATransform(Keeps):
    def __init__(self):
        super().__init__()
        self.transform = _Transform()

    def __getitem__(self, index):
        return self.transform(index)


@case(workers=2, always=True)
class StateOfACollate(Keeps):
    def __getitem__(self, index):
        return index

    def run(self):
        calls = []

        def collate(items):
            calls.append(1)
            return torch.tensor([*items, len(calls)])

        epochs(DataLoader(self, 2, num_workers=2, collate_fn=collate), 2)


@case(workers=2)
class StateOfPersistentWorkers(Keeps):
    def count(self):
        self.n += 1
        return self.n

    def run(self):
        epochs(DataLoader(self, 2, num_workers=2, persistent_workers=True), 3)


@case(workers=2, always=True)
class SharedByTwoDataSets(Keeps):
    def count(self):
        self.n += 1
        return self.n

    def run(self):
        epochs(DataLoader(ConcatDataset([self, Subset(self, [3, 1, 2])]), 2, num_workers=2))


@case(workers=2)
class OfABatch(Keeps):
    """Kept from one batch to the next: __getitems__."""

    def __getitems__(self, indices):
        self.n += 1
        return [index * 100 + self.n for index in indices]


class _Stream(IterableDataset):
    seen = 0

    def __iter__(self):
        for number in range(6):
            self.seen += 1
            yield number * 100 + self.seen


@case(workers=2)
def stream_with_state():
    data = _Stream()
    loader = DataLoader(ChainDataset([data, data]), 2, num_workers=2, persistent_workers=True)
    epochs(loader, 2)


if __name__ == "__main__":
    main()
