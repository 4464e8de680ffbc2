"""Datasets that change without changing a sample, or only look as if they kept state."""

import functools
import random
from typing import Any

import numpy as np
import torch

from .stateful import Rows


class Memo(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.cache:
            self.cache[index] = self.rows[index] * 2
        return self.cache[index]


class MemoByError(Memo):
    def __getitem__(self, index: int) -> Any:
        try:
            return self.cache[index]
        except KeyError:
            value = self.cache[index] = self.rows[index] * 3
            return value


class MemoInAList(Memo):
    def __init__(self) -> None:
        super().__init__()
        self.cached: list[Any] = [None] * 12

    def __getitem__(self, index: int) -> Any:
        if self.cached[index] is None:
            self.cached[index] = self.rows[index] * 2
        return self.cached[index]


class MemoByDecorator(Rows):
    @functools.lru_cache(maxsize=4)  # noqa: B019
    def load(self, index: int) -> Any:
        return self.rows[index] * 2

    def __getitem__(self, index: int) -> Any:
        return self.load(index)


class OpensLater(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.table: Any = None

    def __getitem__(self, index: int) -> Any:
        if self.table is None:
            self.table = self._open()
        return self.table[index]

    def _open(self) -> Any:
        return [row * 2 for row in self.rows]


class OpensByEarlyReturn(OpensLater):
    def __getitem__(self, index: int) -> Any:
        return self._table()[index]

    def _table(self) -> Any:
        if self.table is not None:
            return self.table
        self.table = self._open()
        return self.table


class Lazy(Rows):
    @functools.cached_property
    def doubled(self) -> Any:
        return [row * 2 for row in self.rows]

    def __getitem__(self, index: int) -> Any:
        return self.doubled[index]


class Scratch(Rows):
    """Passes things on in attributes, within one sample."""

    def __getitem__(self, index: int) -> Any:
        self.index = index
        return self._row()

    def _row(self) -> Any:
        return self.rows[self.index]


class FillsItsNotes(Rows):
    def __getitem__(self, index: int) -> Any:
        note = self.notes[index]
        note["twice"] = note["box"] * 2
        return note["twice"]


class Retries(Rows):
    def __getitem__(self, index: int) -> Any:
        for _ in range(3):
            try:
                return self.rows[index]
            except IndexError:
                index = (index + 1) % 12
        return None


class OwnGenerators(Rows):
    """They travel with the lane."""

    def __init__(self) -> None:
        super().__init__()
        self.python = random.Random(3)
        self.numpy = np.random.default_rng(4)
        self.torch = torch.Generator().manual_seed(5)
        self.old = np.random.RandomState(6)

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(
            [
                self.rows[index],
                self.python.random(),
                self.numpy.random(),
                torch.rand(1, generator=self.torch).item(),
                self.old.rand(),
            ],
            dtype=torch.float64,
        )


class LocalThings(Rows):
    def __getitem__(self, index: int) -> Any:
        found: dict[str, Any] = {"row": self.rows[index]}
        found["seen"] = []
        found["seen"].append(index)
        image = self.images[index].copy()
        image += 1
        names = list(self.rows)
        names.sort(reverse=True)
        return found["row"], image, names[0]


STATELESS = [
    Rows, Memo, MemoByError, MemoInAList, MemoByDecorator, OpensLater, OpensByEarlyReturn, Lazy,
    Scratch, FillsItsNotes, Retries, OwnGenerators, LocalThings,
]  # fmt: skip
