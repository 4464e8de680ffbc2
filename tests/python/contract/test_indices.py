"""Contract: whatever a sampler yields means what it means to the stock loader."""

import numpy as np
import pytest
import torch
from PIL import Image
from support.compare import batches, check
from support.lazily import both_ways, epoch
from support.pipelines import train_v1
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, TensorDataset
from torchvision import datasets

COUNT = 27
# As a sampler may yield them. Some are errors, which come in their place.
INDICES = {
    "int": [0, 5, 26, 3],
    "negative": [-1, 3, -27, 5],
    "too negative": [2, -28, 4, 1],
    "too large": [2, 27, 4, 1],
    "bool": [True, 3, False, 5],
    "int32": list(np.arange(4, dtype=np.int32)),
    "int64": list(np.arange(4)),
    "uint8": list(np.arange(4, dtype=np.uint8)),
    "negative int32": [np.int32(-2), np.int32(3), np.int64(-1), np.int32(0)],
    "numpy bool": [np.bool_(True), 3, np.bool_(False), 2],
    "0-d arrays": [np.array(3), np.array(-1), np.array(2, np.int32), 0],
    "0-d tensors": list(torch.arange(4)),
    "0-d tensors of int32": list(torch.arange(4, dtype=torch.int32)),
    "0-d negative tensors": [torch.tensor(-1), torch.tensor(3), 2, torch.tensor(-27)],
    "tensors of one": [torch.tensor([3]), torch.tensor([1]), 2, 4],
    "bool tensors": [torch.tensor(True), 1, torch.tensor(False), 2],
    "float": [1.0, 2, 3, 4],
    "float tensors": [torch.tensor(1.0), 2, 3, 4],
    "text": ["1", 2, 3, 4],
    "None": [None, 2, 3, 4],
}
# As a batch sampler may yield a batch.
BATCHES = {
    "list": lambda keys: keys,
    "tuple": tuple,
    "array": np.asarray,
    "int32 array": lambda keys: np.asarray(keys, np.int32),
    "tensor": torch.tensor,
    "range": lambda keys: range(keys[0], keys[-1]),
    "iterator": iter,
    "dict": lambda keys: dict.fromkeys(keys),
    "empty list": lambda keys: [],
}


class Own(Dataset):
    """A class of the program's own, which is followed."""

    def __init__(self, folder):
        found = datasets.ImageFolder(folder)
        self.paths = [path for path, _ in found.samples]
        self.labels = list(found.targets)
        self.make = train_v1()

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.make(Image.open(self.paths[index]).convert("RGB")), self.labels[index]


def _tensors(folder):
    numbers = torch.arange(3 * COUNT, dtype=torch.float32).reshape(COUNT, 3)
    return TensorDataset(numbers, torch.arange(COUNT))


def _folder(folder):
    return datasets.ImageFolder(folder, train_v1())


DATA = {
    "folder": _folder,
    "own": Own,
    "tensors": _tensors,
    "subset": lambda folder: Subset(_folder(folder), list(range(COUNT))),
    "both": lambda folder: ConcatDataset([Subset(_folder(folder), range(9)), _folder(folder)]),
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("data", DATA)
def test_indices_of_every_type(photos, data, name):
    made = DATA[data](photos)
    check(lambda loader: loader(made, 2, sampler=INDICES[name], num_workers=2))


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("data", ["folder", "own", "both"])
def test_indices_of_every_type_without_workers(photos, data, name):
    made = DATA[data](photos)
    check(lambda loader: loader(made, 2, sampler=INDICES[name]), path=None)


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", BATCHES)
@pytest.mark.parametrize("data", ["folder", "own", "tensors"])
def test_batches_of_every_type(photos, data, kind, num_workers):
    made = DATA[data](photos)
    keys = [[0, 1, 2], [5, 3, 7], [-1, 4, 26]]

    class Batches:
        def __iter__(self):
            return map(BATCHES[kind], keys)

        def __len__(self):
            return len(keys)

    check(lambda loader: loader(made, batch_sampler=Batches(), num_workers=num_workers), path=None)


# A sampler that is an iterator yields once.

ONCE = {
    "generator": lambda keys: (key for key in keys),
    "list iterator": iter,
    "map": lambda keys: map(lambda key: key, keys),
}


@pytest.mark.parametrize("num_workers", [0, 1, 3])
@pytest.mark.parametrize("stop", [None, 2])
@pytest.mark.parametrize("kind", ONCE)
def test_a_batch_sampler_that_yields_once(photos, kind, stop, num_workers):
    """The second epoch has what is left; after a break the batches that were asked for are gone."""
    data = _folder(photos)

    def make(loader):
        plan = ONCE[kind]([[k, k + 1] for k in range(0, 20, 2)])
        return loader(data, batch_sampler=plan, num_workers=num_workers)

    seen = check(make, path=None, epochs=3, stop=stop)
    assert len(batches(seen)) == (10 if stop is None else {0: 6, 1: 6, 3: 4}[num_workers])


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("kind", ONCE)
def test_a_sampler_that_yields_once(photos, kind, num_workers):
    data = _folder(photos)

    def make(loader):
        return loader(data, 2, sampler=ONCE[kind](range(9)), num_workers=num_workers)

    seen = check(make, path=None, epochs=3)
    assert len(batches(seen)) == 5


@pytest.mark.parametrize("persistent", [False, True])
def test_a_batch_sampler_that_yields_once_to_persistent_workers(photos, persistent):
    data = _folder(photos)

    def make(loader):
        plan = iter([[k] for k in range(8)])
        return loader(data, batch_sampler=plan, num_workers=2, persistent_workers=persistent)

    check(make, epochs=2)


def test_a_sampler_that_yields_once_without_workers_is_asked_in_time(photos):
    """Nothing takes from it ahead of the program."""

    def program():
        left = iter([[k, k + 1] for k in range(0, 20, 2)])
        loader = DataLoader(_folder(photos), batch_sampler=left)
        first = [batch for batch, _ in zip(loader, range(3), strict=False)]
        return first, list(left), epoch(loader)

    both_ways(program)
