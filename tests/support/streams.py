"""Iterable data sets that several tests use. Importable, as a program's own module is."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import IterableDataset, get_worker_info


class Drawn(IterableDataset):
    """Samples of each lane, drawn from every generator that code can see. `sizes`: how many each
    lane has; lanes without an entry have none."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes
        self.runs = 0

    def __iter__(self) -> Iterator[Any]:
        self.runs += 1
        info = get_worker_info()
        for number in range(self.sizes[info.id] if info.id < len(self.sizes) else 0):
            yield {
                "lane": info.id,
                "number": number,
                "seed": info.seed,
                "run": self.runs,
                "torch": torch.rand(200),
                "numpy": np.random.rand(300),
                "python": random.random(),
            }


class Lengthy(Drawn):
    """Says how long it is, and may be wrong."""

    def __init__(self, said: int, *sizes: int) -> None:
        super().__init__(*sizes)
        self.said = said

    def __len__(self) -> int:
        return self.said


class Growing(IterableDataset):
    """Each batch is larger than the ones before, beyond any slot."""

    def __iter__(self) -> Iterator[Any]:
        for number in range(6):
            yield torch.rand(300_000 * (number + 1))


class RaisesOnce(IterableDataset):
    """Item 7 of lane 1 raises. `ends`: nothing comes after that, as in a generator."""

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    def __iter__(self) -> Iterator[Any]:
        if self.ends:
            return self._items()
        self._next = -1
        return self

    def _items(self) -> Iterator[int]:
        for number in range(12):
            yield self._item(number)

    def __next__(self) -> int:
        self._next += 1
        if self._next >= 12:
            raise StopIteration
        return self._item(self._next)

    def _item(self, number: int) -> int:
        if number == 7 and get_worker_info().id == 1:
            raise KeyError("no item 7")
        return number


class CannotBegin(IterableDataset):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("no such stream")


class Pictures(IterableDataset):
    """Files that PIL opens, every `num_workers`th of them in each lane; those it can't read are
    numbers."""

    def __init__(self, files: list[str]) -> None:
        self.files = files

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        for number, file in enumerate(self.files[info.id :: info.num_workers]):
            try:
                picture = Image.open(file).convert("RGB").resize((32, 24))
                yield torch.from_numpy(np.array(picture)) + number
            except OSError:
                yield torch.full((24, 32, 3), number, dtype=torch.uint8)
