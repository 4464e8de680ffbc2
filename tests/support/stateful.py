"""Datasets that keep state from sample to sample. See stateless.py for what only looks like it."""

import collections
import itertools
import os
import random
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset
from torchvision import transforms as v1

SEEN: list[int] = []
COUNT = 0
TOTALS = {"samples": 0}
SHARED = random.Random(1)


class Rows(Dataset):
    """What the others are made of. Its own samples depend on nothing but the index."""

    def __init__(self) -> None:
        self.rows = list(range(12))
        self.images = np.arange(36.0).reshape(12, 3)
        self.notes = [{"box": i} for i in range(12)]
        self.count = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index], self.images[index] / 2


class Counter(Rows):
    def __getitem__(self, index: int) -> Any:
        self.count += 1
        return self.rows[index]


class CountsInTwoSteps(Rows):
    def __getitem__(self, index: int) -> Any:
        before = self.count
        self.count = before + 1
        return self.rows[index]


class CountsByName(Rows):
    def __getitem__(self, index: int) -> Any:
        setattr(self, "count", self.count + 1)  # noqa: B010
        return self.rows[index]


class CountsInItsDict(Rows):
    def __getitem__(self, index: int) -> Any:
        self.__dict__["count"] = self.count + 1
        return self.rows[index]


class CountsInTheClass(Rows):
    total = 0

    def __getitem__(self, index: int) -> Any:
        type(self).total += 1
        return self.rows[index]


class CountsInABase(Counter):
    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)


class CountsInAHelper(Rows):
    def __getitem__(self, index: int) -> Any:
        return self.rows[self._next(index)]

    def _next(self, index: int) -> int:
        note_of(self)
        return index


def note_of(dataset: Any) -> None:
    dataset.count = dataset.count + 1


class GlobalList(Rows):
    def __getitem__(self, index: int) -> Any:
        SEEN.append(index)
        return self.rows[index]


class GlobalNumber(Rows):
    def __getitem__(self, index: int) -> Any:
        global COUNT
        COUNT += 1
        return self.rows[index]


class GlobalEntry(Rows):
    def __getitem__(self, index: int) -> Any:
        TOTALS["samples"] += 1
        return self.rows[index]


class GlobalGenerator(Rows):
    def __getitem__(self, index: int) -> Any:
        return self.rows[index] + SHARED.random()


def counting() -> Any:
    calls = 0

    def transform(value: Any) -> Any:
        nonlocal calls
        calls += 1
        return value + calls

    return transform


class ClosureCell(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.transform = counting()

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.rows[index])


class MutableDefault(Rows):
    def __getitem__(self, index: int, seen: list[int] = []) -> Any:  # noqa: B006
        seen.append(index)
        return len(seen)


class Previous(Rows):
    """Mixes each sample with the one before."""

    previous: Any = 0

    def __getitem__(self, index: int) -> Any:
        mixed = self.rows[index] + self.previous
        self.previous = self.rows[index]
        return mixed


class Bank(Rows):
    """Gives another sample that it has made before, if there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.bank: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        other = self.bank.get(random.randrange(12))
        self.bank[index] = self.rows[index]
        return self.rows[index], -1 if other is None else other


class Balance(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.drawn: collections.Counter[int] = collections.Counter()

    def __getitem__(self, index: int) -> Any:
        self.drawn[index % 3] += 1
        return self.rows[index], self.drawn[index % 3] > 5


class Window(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.window: collections.deque[int] = collections.deque(maxlen=3)

    def __getitem__(self, index: int) -> Any:
        self.window.append(self.rows[index])
        return sum(self.window)


class Iterator(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count()

    def __getitem__(self, index: int) -> Any:
        return self.rows[index], next(self.numbers)


class InPlaceView(Rows):
    def __getitem__(self, index: int) -> Any:
        image = self.images[index]
        image += 1
        return image


class InPlaceEntry(Rows):
    def __getitem__(self, index: int) -> Any:
        self.images[index] *= 0.5
        return self.images[index]


class InPlaceTensor(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.weights = torch.ones(12)

    def __getitem__(self, index: int) -> Any:
        self.weights.mul_(0.9)
        return self.weights[index]


class ScalesItsNotes(Rows):
    def __getitem__(self, index: int) -> Any:
        note = self.notes[index]
        note["box"] = note["box"] * 2
        return note["box"]


class ShufflesItsRows(Rows):
    def __getitem__(self, index: int) -> Any:
        random.shuffle(self.rows)
        return self.rows[index]


class WritesAFile(Rows):
    def __getitem__(self, index: int) -> Any:
        with open(os.devnull, "a") as file:
            file.write(f"{index}\n")
        return self.rows[index]


class Scaler:
    """A transform with a count of its own."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, value: Any) -> Any:
        self.calls += 1
        return value * self.calls


class InALibrarysList(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.transform = v1.Compose([v1.Lambda(lambda value: value), Scaler()])

    def __getitem__(self, index: int) -> Any:
        return self.transform(self.rows[index])


class InALoop(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.steps = [abs, Scaler()]

    def __getitem__(self, index: int) -> Any:
        value = self.rows[index]
        for _, step in enumerate(self.steps):
            value = step(value)
        return value


class SeedsOnce(Rows):
    """The sample that is made first decides what the others draw."""

    seeded = False

    def __getitem__(self, index: int) -> Any:
        if not self.seeded:
            random.seed(index)
            self.seeded = True
        return self.rows[index] + random.random()


class FallsBack(Rows):
    """Gives the last row that could be read in place of one that can't."""

    last = 0

    def __getitem__(self, index: int) -> Any:
        try:
            row = 1 // (self.rows[index] % 2)
            self.last = index
        except ZeroDivisionError:
            row = self.rows[self.last]
        return row


class ScalesItsMemo(Rows):
    """Caches an array, and changes what it took from the cache."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index in self.cache:
            (image,) = self.cache[index]
        else:
            image = self.images[index] * 1
            self.cache[index] = (image,)
        image[:] = image / 2
        return image


class Refills(Rows):
    """Samples wait in a list that is filled where it is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[int] = []

    def __getitem__(self, index: int) -> Any:
        if not self.waiting:
            self.waiting = [index, index + 1]
        return self.waiting.pop()


class NotesMisses(Rows):
    """What it writes beside the cache is not kept by a key."""

    last: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.cache:
            self.last = self.rows[index]
            self.cache[index] = self.last
        return self.cache[index], self.last


class TurnsItselfOn(Rows):
    """Its setting is off, but not for long."""

    warm = False

    def __getitem__(self, index: int) -> Any:
        if self.warm:
            self.count += 1
        self.warm = index > 3
        return self.count


class TurnsOnByAnyName(TurnsItselfOn):
    def __getitem__(self, index: int) -> Any:
        if self.warm:
            self.count += 1
        setattr(self, self.name_of(index), True)
        return self.count

    def name_of(self, index: int) -> str:
        return "warm"


class TurnedOnByUnpickling(Rows):
    training = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, training=True)

    def __getitem__(self, index: int) -> Any:
        if self.training:
            self.count += 1
        return self.count


class Position(Bank):
    """Its samples say how many were made before."""

    def __getitem__(self, index: int) -> Any:
        before = len(self.bank)
        self.bank[index] = self.rows[index]
        return self.rows[index], before


class SkipsWhatFailed(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.failed: set[int] = set()

    def __getitem__(self, index: int) -> Any:
        if index in self.failed:
            return self.rows[0]
        self.failed.add(index)
        return self.rows[index]


STATEFUL = [
    SkipsWhatFailed,    Counter, CountsInTwoSteps, CountsByName, CountsInItsDict, CountsInTheClass, CountsInABase,
    CountsInAHelper, GlobalList, GlobalNumber, GlobalEntry, GlobalGenerator, ClosureCell,
    MutableDefault, Previous, Bank, Balance, Window, Iterator, InPlaceView, InPlaceEntry,
    InPlaceTensor, ScalesItsNotes, ShufflesItsRows, WritesAFile, InALibrarysList, InALoop,
    SeedsOnce, FallsBack, ScalesItsMemo, Refills, NotesMisses, TurnsItselfOn, TurnsOnByAnyName,
    TurnedOnByUnpickling, Position,
]  # fmt: skip
