"""Datasets that change without changing a sample, or only look as if they kept state."""

import functools
import random
import sys
import types
from typing import Any

import numpy as np
import torch

from .stateful import Rows

TABLE: list[int] | None = None


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


class SwitchedOff(Rows):
    """Its settings rule out what would keep state."""

    def __init__(self) -> None:
        super().__init__()
        self.augment = False
        self.options = types.SimpleNamespace(mode="eval", bank=None)

    def __getitem__(self, index: int) -> Any:
        if self.augment and random.random() < 0.5:
            self.count += 1
        if self.options.mode == "train" or self.options.bank is not None:
            self.rows.append(index)
        if getattr(self, "augment", True):
            self.rows.reverse()
        return self._plain(index)

    def _plain(self, index: int) -> Any:
        if not self.augment:
            return self.rows[index]
        self.count += 1
        return self.count


class OpensAllAtOnce(Rows):
    """One condition for all that it fills in."""

    ready = False

    def __init__(self) -> None:
        super().__init__()
        self.options = {"kind": "plain", "scale": 2}

    def __getitem__(self, index: int) -> Any:
        if not self.ready:
            self._open(**self.options)
        return self.table[index], self.kind

    def _open(self, scale: int, **more: Any) -> None:
        self.kind = self.options.pop("kind")
        self.table = [row * scale for row in self.rows]
        self.ready = True


class GlobalTable(Rows):
    def __getitem__(self, index: int) -> Any:
        global TABLE
        if TABLE is None:
            TABLE = [3, 4]
        return self.rows[index] * TABLE[0]


class FirstOfItsRows(Rows):
    def __getitem__(self, index: int) -> Any:
        return next(iter(self.notes))["box"], self.rows[index]


class ConvertsItsTable(Rows):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.arange(12)

    def __getitem__(self, index: int) -> Any:
        self.table = self.table.to(torch.float64)
        return self.table[index]


class Warns(Rows):
    def __getitem__(self, index: int) -> Any:
        print("row", index, file=sys.stderr)
        return self.rows[index]


class MemoInAListMadeLater(Rows):
    memo: list[Any] | None = None

    def __getitem__(self, index: int) -> Any:
        if not hasattr(self, "memo") or self.memo is None:
            self.memo = len(self) * [None]
        elif self.memo[index] is not None:
            return self.memo[index]
        row = self.rows[index] * 2
        self.memo[index] = row
        return row


STATELESS = [
    Rows, Memo, MemoByError, MemoInAList, MemoByDecorator, OpensLater, OpensByEarlyReturn, Lazy,
    Scratch, FillsItsNotes, Retries, OwnGenerators, LocalThings, SwitchedOff, OpensAllAtOnce,
    GlobalTable, FirstOfItsRows, ConvertsItsTable, Warns, MemoInAListMadeLater,
]  # fmt: skip
