"""Contract: data sets of the program's own that are followed give the stock loader's batches."""

import os

import numpy as np
import pytest
import torch
from headrace.capture import NativePlan, NotNative, capture
from headrace.capture.items import items_of
from PIL import Image
from support.compare import check
from support.lazily import both_ways, epoch, without_workers
from support.own_datasets import NATIVE, Joined, augment
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as v1


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_data_set_of_its_own(photos, name, num_workers):
    data = NATIVE[name](photos)
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers))


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(photos, name):
    report = without_workers(lambda: NATIVE[name](photos))
    assert report.samples_by_path == {"native": 81, "python": 0, "local": 0}


def test_parts_of_it(photos):
    data = NATIVE["joined"](photos)
    both = ConcatDataset([Subset(data, [3, 1, 2]), NATIVE["joined"](photos)])
    for one in (Subset(data, [5, 1, 0]), Subset(Subset(data, [7, 8, 9]), [2, 0])):
        check(lambda loader, one=one: loader(one, batch_size=2, num_workers=1))
    data.transform = both.datasets[1].transform
    check(lambda loader: loader(both, batch_size=4, shuffle=True, num_workers=1))


def change_of(name):
    def change(data):
        if name == "transform":
            data.transform = augment()
            data.transform.transforms[0].size = (8, 8)
        elif name == "entry":
            data.names[20] = data.names[3]
        elif name == "label":
            data.labels[20] = 77
        else:
            data.labels = [label + 5 for label in data.labels]

    return change


@pytest.mark.parametrize("what", ["transform", "entry", "label", "list"])
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_change_shows(photos, what, num_workers):
    """With workers at the next iter(), without them in the next batch."""

    def program():
        data = NATIVE["joined"](photos)
        loader = DataLoader(data, 4, num_workers=num_workers)
        change = change_of(what)
        return [
            epoch(loader, lambda number: change(data) if number == 2 else None),
            epoch(loader),
        ]

    both_ways(program)


class Numbered(Joined):
    """Code that shows what it gets as index."""

    def __getitem__(self, idx):
        path = os.path.join(self.root, self.names[idx])
        return self.transform(Image.open(path).convert("RGB")), idx


class Doubled(Numbered):
    def __getitem__(self, idx):
        path = os.path.join(self.root, self.names[idx])
        return self.transform(Image.open(path).convert("RGB")), idx * 2


class Looked(Joined):
    """In a dict, where an index must be equal and not only stand for a place."""

    def __init__(self, root):
        super().__init__(root)
        self.by_number = dict(enumerate(self.names))

    def __getitem__(self, idx):
        path = os.path.join(self.root, self.by_number[idx])
        return self.transform(Image.open(path).convert("RGB")), self.labels[idx]


INDICES = {
    "negative": [*range(8), -1, -2, -1, -3],
    "int32": np.arange(12, dtype=np.int32),
    "int64": np.arange(12),
    "tensors": torch.arange(12),
    "bools": [False, True, 2, 3],
    "of both kinds": [*range(6), np.int32(3), np.int64(4), torch.tensor(5), -1],
}


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("cls", [Joined, Numbered, Doubled, Looked])
def test_the_code_sees_the_index_that_the_sampler_gives(photos, cls, name, num_workers):
    data = cls(photos)
    sampler = INDICES[name]
    check(
        lambda loader: loader(data, 4, sampler=sampler, num_workers=num_workers),
        path=None,  # where none is the service's, the trainer's code is asked
        epochs=1,
    )


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("cls", [Joined, Numbered, Doubled])
def test_or_that_a_subset_gives(photos, cls, name, num_workers):
    data = Subset(cls(photos), INDICES[name])
    check(lambda loader: loader(data, 4, num_workers=num_workers), path=None, epochs=1)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_integers_of_numpy_are_served_where_the_code_only_takes_entries_by_them(
    photos, num_workers
):
    data = Joined(photos)

    def program():
        return epoch(DataLoader(data, 4, sampler=np.arange(12), num_workers=num_workers))

    _, report = both_ways(program)
    assert report.samples_by_path["native"] == 12


class Slots:
    """Without attributes of its own."""

    __slots__ = ()

    def __len__(self):
        return len(FILES)

    def __getitem__(self, idx):
        return AUGMENT(Image.open(FILES[idx]).convert("RGB"))


FILES: list[str] = []
AUGMENT = augment()


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_class_with_slots(photos, num_workers):
    FILES[:] = map(str, sorted(photos.rglob("*.jpg")))
    check(lambda loader: loader(Slots(), 4, num_workers=num_workers), path=None)


class Slashes(Joined):
    def __getitem__(self, idx):
        return self.transform(Image.open(f"{self.root}//{self.names[idx]}").convert("RGB"))


def test_two_slashes_after_the_working_directory(photos, monkeypatch):
    monkeypatch.chdir(photos)
    check(lambda loader: loader(Slashes(photos), 4, num_workers=1), path="native")


class Grows(Joined):
    """A list that two names stand for grows."""

    def __getitem__(self, idx):
        name = self.names[idx].replace(".jpg", "")
        parts = name.split("/")
        whole = parts
        parts += (name + "/7").split("/")
        image = Image.open(os.path.join(self.root, self.names[idx])).convert("RGB")
        return self.transform(image), int(whole[-1])


def test_a_list_that_grows_under_two_names(photos):
    check(lambda loader: loader(Grows(photos), 4, num_workers=1), path="python")
    with pytest.raises(NotNative, match="in place"):  # and not by the compared samples alone
        items_of(Grows(photos))


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_are_no_forks_have_code_of_their_own(photos, method):
    """They import the program's module anew, and unpickle its data set."""
    for data in (Joined(photos), datasets.ImageFolder(photos, lambda image: augment()(image))):
        loader = DataLoader(data, 4, num_workers=1, multiprocessing_context=method)
        assert not isinstance(capture(loader, "torch"), NativePlan)
    plain = datasets.ImageFolder(photos, augment())
    loader = DataLoader(plain, 4, num_workers=1, multiprocessing_context=method)
    assert isinstance(capture(loader, "torch"), NativePlan)


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("as_list", [True, False])
def test_indices_of_a_subset_that_change_in_place(photos, own, as_list):
    def program():
        data = Joined(photos) if own else datasets.ImageFolder(photos, augment())
        indices = torch.arange(8)
        part = Subset(data, list(indices) if as_list else indices)
        loader = DataLoader(part, 4, num_workers=1)
        seen = []
        for _ in range(3):
            indices += 4
            seen.append(epoch(loader))
        return seen

    both_ways(program)


class Formatted(Joined):
    def __getitem__(self, idx):
        name = os.path.basename(self.names[idx])
        path = os.path.join(self.root, os.path.dirname(self.names[idx]), f"{name}{idx:03d}"[:-3])
        return self.transform(Image.open(path).convert("RGB")), idx


@pytest.mark.parametrize("num_workers", [0, 1])
def test_integers_of_numpy_in_texts_are_served(photos, num_workers):
    data = Formatted(photos)
    _, report = both_ways(
        lambda: epoch(DataLoader(data, 4, sampler=np.arange(12), num_workers=num_workers))
    )
    assert report.samples_by_path["native"] == 12


def test_a_batch_without_a_sample_for_the_workers_is_no_error(photos, capfd):
    """The picture decides the shape, so nothing tells the worker of it."""
    data = Doubled(photos)
    data.transform = v1.Compose([v1.Resize(16), v1.ToTensor()])
    sampler = np.arange(12, dtype=np.int32)
    check(lambda loader: loader(data, 1, sampler=sampler, num_workers=1), by_trainer=True, epochs=1)
    said = capfd.readouterr().err
    assert "answered wrongly" not in said and "left to the trainer" not in said
