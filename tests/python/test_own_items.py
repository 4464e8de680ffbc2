"""Data sets of programs: what is found in their code, and what of it is refused and not run."""

import os
import random

import numpy as np
import pytest
import torch
from headrace.capture.items import items_of
from headrace.capture.items.deep import holds_deep
from headrace.native.plan import NotNative
from PIL import Image
from support.own_datasets import NATIVE, Joined, augment

RAN = []
SEED = 20261203


@pytest.mark.parametrize("name", NATIVE)
def test_paths_and_labels_are_those_of_the_code(photos, name):
    data = NATIVE[name](photos)
    items = items_of(data)
    assert (items.count, items.modes) == (len(data), ("RGB",))
    opened = []
    real = Image.open

    def remember(file, *more):
        opened.append(file.name if hasattr(file, "read") else os.fspath(file))
        return real(file, *more)

    labels = []
    for index in range(len(data)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Image, "open", remember)
            labels.append(_label(data[index]))
    assert list(items.paths[0]) == opened
    assert [list(column) for column in items.labels] == ([labels] if name != "paths" else [])
    assert items.seen.same() and items.lists.same()


def _label(sample):
    parts = list(sample.values()) if isinstance(sample, dict) else sample
    return next((part for part in parts if type(part) is int), None)


class Base(Joined):
    def end(self, image):
        return self.transform(image)


class Counts(Base):
    def __getitem__(self, idx):
        self.count = idx
        return self.transform(Image.open(self.names[idx]).convert("RGB"))


class ByChance(Base):
    def __getitem__(self, idx):
        other = random.randrange(len(self.names))
        return self.transform(Image.open(self.names[other]).convert("RGB"))


class ByItself(Base):
    def __getitem__(self, idx):
        if self.labels[idx] == 1:
            idx = 0
        return self.transform(Image.open(self.names[idx]).convert("RGB"))


class Tries(Base):
    def __getitem__(self, idx):
        try:
            return self.transform(Image.open(self.names[idx]).convert("RGB"))
        except OSError:
            return self[0]


class ReadsAnArray(Base):
    def __getitem__(self, idx):
        return self.transform(Image.fromarray(np.load(self.names[idx])))


class Closed(Base):
    def __getitem__(self, idx):
        with Image.open(self.names[idx]) as image:
            pass
        return self.transform(image.convert("RGB"))


class ClosedFile(Base):
    def __getitem__(self, idx):
        with open(self.names[idx], "rb") as file:
            pass
        return self.transform(Image.open(file).convert("RGB"))


class SaysText(Base):
    def __getitem__(self, idx):
        return self.transform(Image.open(self.names[idx]).convert("RGB")), self.names[idx]


class OneFile(Base):
    def __getitem__(self, idx):
        return self.transform(Image.open(self.names[0]).convert("RGB"))


class Gray(Base):
    def __getitem__(self, idx):
        image = Image.open(self.names[idx])
        return self.transform(image.rotate(3).convert("RGB"))


class Mixed(Base):
    def __init__(self, root):
        super().__init__(root)
        self.labels[5] = 1.5

    def __getitem__(self, idx):
        return self.transform(Image.open(self.names[idx]).convert("RGB")), self.labels[idx]


class Short(Base):
    def __init__(self, root):
        super().__init__(root)
        self.labels.pop()

    def __getitem__(self, idx):
        return self.transform(Image.open(self.names[idx]).convert("RGB")), self.labels[idx]


class Changeable(Base):
    def __init__(self, root):
        super().__init__(root)
        self.pairs = [[name, [object()]] for name in self.names]

    def __getitem__(self, idx):
        name, _ = self.pairs[idx]
        return self.transform(Image.open(name).convert("RGB"))


class Batches(Base):
    def __getitems__(self, keys):
        return [self[key] for key in keys]


class Perhaps(Base):
    def __getattr__(self, name):
        RAN.append(name)
        raise AttributeError(name)


class Entries(list):
    def __getitem__(self, at):
        RAN.append(at)
        return super().__getitem__(at)


class OwnList(Base):
    def __init__(self, root):
        super().__init__(root)
        self.names = Entries(self.names)


class Asks(Base):
    def __getitem__(self, idx):
        image = Image.open(self.names[idx]).convert("RGB")
        return self.transform(image), 1 if self.labels[idx] is None else 0


class Unpacks(Base):
    def __init__(self, root):
        super().__init__(root)
        self.pairs = [(name, 1) for name in self.names]
        self.pairs[4] = (self.names[4], 1, 2)

    def __getitem__(self, idx):
        name, _ = self.pairs[idx]
        return self.transform(Image.open(name).convert("RGB"))


class NotUsed(Base):
    def __getitem__(self, idx):
        Image.open(self.names[0 * idx])
        return self.transform(Image.open(self.names[idx]).convert("RGB"))


class RaisesForOne(Base):
    def __init__(self, root):
        super().__init__(root)
        self.numbers = ["1"] * len(self.names)
        self.numbers[5] = "x"

    def __getitem__(self, idx):
        int(self.numbers[idx])
        return self.transform(Image.open(self.names[idx]).convert("RGB"))


class OfObjects(Base):
    def __init__(self, root):
        super().__init__(root)
        self.of = {label: [label] for label in self.labels}

    def __getitem__(self, idx):
        image = Image.open(self.names[idx]).convert("RGB")
        return self.transform(image), self.of[self.labels[idx]]


CASES = {
    NotUsed: "a file that it does not use",
    RaisesForOne: "raises ValueError for an index",
    OfObjects: "returns a list beside the picture",
    Counts: "sets an attribute",
    ByChance: "takes an entry that is not known",
    ByItself: "compares what belongs to the index",
    Tries: "a try statement",
    ReadsAnArray: "numpy.load|fromarray",
    Closed: "reads a picture of a file that is closed",
    ClosedFile: "opens a picture in a file that is closed",
    SaysText: "returns a str beside the picture",
    OneFile: "not told by the index",
    Gray: "uses .rotate of a picture that is opened",
    Mixed: "different types",
    Short: "that it does not have",
    Changeable: "entries by the index that hold a object",
    Batches: "makes a batch at once",
    Perhaps: "may have __getitems__",
    OwnList: "is not followed|takes an entry|calls len",
    Asks: "is None",
    Unpacks: "different lengths",
}


@pytest.mark.parametrize("cls", CASES)
def test_more_than_that_is_refused(photos, cls):
    data = cls(photos)
    RAN.clear()
    with pytest.raises(NotNative, match=CASES[cls]) as refused:
        items_of(data)
    assert "is not a dataset with a native form: " in str(refused.value)
    assert refused.value.remedy
    assert not RAN


@pytest.mark.parametrize("what", ["entry", "length", "code", "class", "held", "path"])
def test_a_change_is_seen(photos, what):
    data = Joined(photos)
    items = items_of(data)
    if what == "entry":
        data.labels[3] = 9
    elif what == "length":
        data.labels.append(1)
    elif what == "code":
        data.__class__ = type("Other", (Joined,), {"__getitem__": Base.end})
    elif what == "class":
        data.__class__ = Base
    elif what == "held":
        data.transform = augment()
    else:
        data.root = "/elsewhere"
    assert not (items.seen.same() and items.lists.same())


def test_nothing_is_drawn(photos):
    before = torch.get_rng_state()
    items_of(Joined(photos))
    assert torch.equal(torch.get_rng_state(), before)


def test_entries_that_hold_more_than_plain_parts_are_found_among_many():
    rng = random.Random(SEED)
    print("seed", SEED)
    plain = [3, 0.5, "text", None, b"bytes", (), [], (1, "a"), ["b", 2.5], (None,), "lists"]
    deep = [
        {},
        {"a": 1},
        torch.zeros(2),
        np.zeros(2),
        ([],),
        [(1,)],
        (1, {}),
        [np.zeros(1)],
        [torch.ones(1)],
    ]
    for _ in range(300):
        entries = rng.choices(plain, k=rng.randrange(12))
        assert not holds_deep(entries), entries
        for one in deep:
            with_it = entries.copy()
            with_it.insert(rng.randint(0, len(entries)), one)
            assert holds_deep(with_it), with_it
            assert holds_deep(dict(enumerate(with_it)).values())
