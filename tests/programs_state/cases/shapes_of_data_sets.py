"""Data sets and loaders of every shape: compositions, odd containers, streams, loaders that are subclassed,
copied or changed."""

import asyncio
import copy
import csv
import gc
import gzip
import io
import itertools
import mmap
import pickle
import queue
import random
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import torch
from bits import epochs, say, show, states
from cases import Look, case, looked, main, photos
from torch.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)
from torchvision import datasets
from torchvision import transforms as T


def folder(seed=None):
    steps = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
    return datasets.ImageFolder(photos(), steps)


def both(data, count=2, **named):
    for workers in (0, 2):
        epochs(DataLoader(data, **{"batch_size": 3, "num_workers": workers, **named}), count)


class Many(Look):
    """Makes whole batches; `order` says what it does with the list."""

    def __init__(self, order):
        super().__init__(lambda i: torch.rand(2))
        self.order = order

    def __getitems__(self, indices):
        return self.order([self[i] for i in indices])


@case(workers=2, hosts=2)
def many_samples_at_once():
    both(Many(lambda items: items[::-1]))
    both(Many(lambda items: items[:1]))
    both(Many(lambda items: items * 2))
    both(Many(tuple))
    both(Subset(Many(lambda items: items[::-1]), [5, 1, 3, 2]))
    both(Many(iter), collate_fn=lambda items: default_collate(list(items)))


@case(workers=2, hosts=2)
def joined_folders_and_own_code():
    both(ConcatDataset([folder(), folder()]), shuffle=True)
    both(ConcatDataset([Subset(folder(), range(3)), random_split(folder(), [4, 17])[0]]))
    both(StackDataset(folder(), TensorDataset(torch.arange(21))))
    both(StackDataset(x=folder(), y=Look(lambda i: torch.rand(1), 21)), count=1)


@case()
def subsets_of_subsets():
    inner = Subset(folder(), np.array([3, 9, 4, 4, 20, 7]))
    both(Subset(inner, torch.tensor([5, 0, 0, 2])))
    both(Subset(inner, (-1, -2, 1)))


@case()
def subsets_out_of_range():
    both(Subset(folder(), [3, 99]), count=1)
    both(Subset(folder(), ["a"]), count=1)


@case()
def plain_containers():
    for data in (
        [torch.ones(2) * i for i in range(5)],
        {0: 1, 1: 2, 2: 5},
        "abcdef",
        range(7),
        b"bytes",
        np.arange(10.0).reshape(5, 2),
        torch.arange(10.0).reshape(5, 2),
        ("a", "b", "c"),
    ):
        both(data, count=1)
    array = np.arange(5)
    loader = DataLoader(array, 2, num_workers=2)
    epochs(loader, 2, each=lambda *_: array.__iadd__(10))


class Delegating:
    def __init__(self, inner):
        self.__dict__["inner"] = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return self.inner[index]


@case()
def data_set_that_delegates():
    both(Delegating(folder()))
    data = copy.copy(folder())
    data.__dict__["extra"] = lambda: 1
    both(data, count=1)


@case()
def data_set_that_says_a_wrong_length():
    data = Look(lambda i: [1, 2, 3, 4][i])
    both(data, count=1)
    both(Look(lambda i: i, length=0), count=1)


class Shard(IterableDataset):
    def __init__(self, stop, draw=False):
        self.stop, self.draw = stop, draw

    def __iter__(self):
        info = get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, self.stop, step):
            yield i + (random.random() + torch.rand(1).item() if self.draw else 0)


@case(workers=2, hosts=2, always=True)
def chained_streams_by_worker():
    both(ChainDataset([Shard(5), Shard(4, draw=True)]))
    both(ChainDataset([Shard(5)]) + Shard(3), drop_last=True)


class Stream(IterableDataset):
    def __init__(self, make):
        self.make = make

    def __iter__(self):
        return self.make()


@case()
def streams_of_iterators():
    both(Stream(lambda: iter([1, 2, 3, 4])))
    both(Stream(lambda: map(float, range(5))))
    both(Stream(lambda: itertools.chain("ab", "cd")))
    both(Stream(lambda: zip("abc", range(3), strict=True)), batch_size=None)
    endless = itertools.cycle(range(3))
    both(Stream(lambda: itertools.islice(endless, 4)))


@case()
def stream_that_cleans_up():
    def make():
        info = get_worker_info()
        try:
            yield from range(9)
        finally:
            Path(f"closed{info.id if info else '-'}").touch()

    for workers in (0, 2):
        epochs(DataLoader(Stream(make), 2, num_workers=workers), 1, stop=2)
        gc.collect()
        end = time.monotonic() + 5
        while workers == 0 and not Path("closed-").exists() and time.monotonic() < end:
            time.sleep(0.01)
        say(str(sorted(path.name for path in Path().glob("closed-"))))


@case()
def coroutines_in_samples():
    async def one(i):
        await asyncio.sleep(0)
        return i * 2 + torch.rand(1).item()

    async def several(i):
        return await asyncio.gather(*(one(i + k) for k in range(3)))

    looked(lambda i: asyncio.run(several(i)), 2)


@case(workers=2, hosts=2)
def generator_that_a_data_set_keeps():
    def numbers():
        total = 0
        while True:
            total += 1
            yield total + random.random()

    kept = numbers()
    next(kept)
    looked(lambda i: next(kept), 2)
    looked(lambda i: next(kept), 2, persistent_workers=True)


@case(workers=2, hosts=2)
def generators_of_numpy_that_stay():
    shared, default = np.random.default_rng(5), random.Random(7)

    def before(epoch):
        show([shared.random(), default.random()], "drawn")

    looked(lambda i: (shared.normal(), default.gauss(0, 1)), 3, before=before)
    looked(lambda i: (shared.normal(), default.gauss(0, 1)), 2, num_workers=0)


@case()
def queue_that_a_thread_has_filled():
    ready = queue.Queue()
    thread = threading.Thread(target=lambda: [ready.put(k * k) for k in range(20)])
    thread.start()
    thread.join()
    looked(lambda i: ready.get_nowait(), 2)


@case(hosts=2)
def weak_references():
    class Node:
        pass

    nodes = {k: Node() for k in range(8)}
    table = weakref.WeakValueDictionary(nodes)
    looked(lambda i: len(table), 3, before=lambda epoch: nodes.pop(epoch))


@case()
def samples_that_say_when_they_are_freed():
    class Sample:
        def __init__(self, i):
            self.i = i

        def __del__(self):
            freed.append(self.i)

    freed = []

    def collate(items):
        return [(sample.i, list(freed)) for _, sample in items]

    looked(Sample, 2, collate_fn=collate)
    looked(Sample, 2, collate_fn=collate, num_workers=0)


@case(workers=2)
def files_that_are_read_in_a_row():
    """The place in an open file is shared by all processes: one worker at a time reads it here."""
    Path("table.csv").write_text("".join(f"{i},{i * i}\n" for i in range(40)))
    with gzip.open("table.gz", "wt") as file:
        file.write("".join(f"{i}\n" for i in range(40)))
    table, lines, packed = (
        open("table.csv", "rb"),
        csv.reader(open("table.csv")),
        gzip.open("table.gz"),
    )  # noqa: SIM115, E501
    held, memory = io.BytesIO(bytes(range(40))), mmap.mmap(table.fileno(), 0, prot=mmap.PROT_READ)

    def look(i):
        return str(
            (table.readline(), next(lines), packed.readline(), held.read(1), memory.readline())
        )

    looked(look, 2, num_workers=1)
    looked(look, 1, num_workers=0)


class Doubling(DataLoader):
    def __iter__(self):
        for batch in super().__iter__():
            yield batch
            yield batch

    def __len__(self):
        return 2 * super().__len__()


@case()
def loader_of_ones_own():
    for workers in (0, 2):
        loader = Doubling(folder(), 4, num_workers=workers)
        say(str(len(loader)))
        epochs(loader, 2)


@case(workers=2)
def loader_that_is_copied():
    loader = DataLoader(folder(), 4, num_workers=2, shuffle=True)
    epochs(copy.deepcopy(loader), 1)
    epochs(loader, 1)
    epochs(copy.copy(loader), 1)
    epochs(pickle.loads(pickle.dumps(loader)), 1)


@case(workers=2)
def loader_that_is_changed_between_epochs():
    def begin(worker):
        torch.manual_seed(worker)

    for data in (folder(), Look(lambda i: torch.rand(2), 9)):
        loader = DataLoader(data, 3, num_workers=2)
        changes = [
            ("num_workers", 1),
            ("worker_init_fn", begin),
            ("prefetch_factor", 1),
            ("collate_fn", len),
            ("generator", torch.Generator().manual_seed(4)),
            ("num_workers", 0),
            ("drop_last", True),
        ]
        epochs(loader, 8, before=lambda epoch: epoch and setattr(loader, *changes[epoch - 1]))  # noqa: B023
        for name in ("dataset", "batch_size", "sampler"):
            try:
                setattr(loader, name, 5)
            except ValueError as error:
                say(str(error))


@case()
def first_batches_alone():
    loader = DataLoader(folder(), 4, shuffle=True, num_workers=2)
    for _ in range(3):
        show(next(iter(loader)))
        states()
    show(list(itertools.islice(loader, 2)))
    show([(x, y) for x, y in zip(loader, loader, strict=True)][1])
    states()


@case(workers=2)
def samplers_that_draw_otherwise():
    data, own = folder(), torch.Generator().manual_seed(8)
    many = RandomSampler(data, replacement=True, num_samples=50)
    weighted = WeightedRandomSampler([1.0] * 20 + [9.0], 12, generator=own)
    for workers in (0, 2):
        epochs(DataLoader(data, 7, sampler=many, num_workers=workers), 2)
        epochs(DataLoader(data, 5, sampler=weighted, num_workers=workers, drop_last=True), 2)
        nested = BatchSampler(SequentialSampler(range(5)), 2, False)
        epochs(DataLoader(data, batch_sampler=nested, num_workers=workers), 2)


@case()
def lists_as_batch_samplers():
    plan = [[0, 1], [2], [3, 4, 5], [6, 7]]

    def each(epoch, number, batch):
        plan[-1].append(number)
        random.shuffle(plan[0])

    for workers in (0, 2):
        loader = DataLoader(folder(), batch_sampler=plan, num_workers=workers)
        epochs(loader, 2, each=each)


@case(hosts=2, always=True)
def no_batches_of_shared_tensors():
    """A tensor in shared memory is the same one in worker and trainer: so is its row."""
    rows = torch.zeros(6, 3).share_memory_()

    class Rows(Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, index):
            return rows[index]

    loader = DataLoader(Rows(), None, num_workers=1)
    epochs(loader, 2, each=lambda epoch, number, batch: batch.add_(number + 1))
    show(rows)


if __name__ == "__main__":
    main()
