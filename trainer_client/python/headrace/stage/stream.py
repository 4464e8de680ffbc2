"""A lane of an iterable data set: the iterator that one worker of the stock loader would run.

Its place: for each epoch since the lane was seeded its name, what the data set was told of it, and how
many batches were asked for in it.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .epoch import holder_of
from .replay import Lane, Taken
from .wire import LANE_ENDED, MADE, RAISED


@dataclass
class Epoch:
    """keys of a request: name and told."""

    name: int  # unlike those of other epochs
    told: int  # argument of the data set's set_epoch(); -1: it has none to be told
    asked: int = 0


_EPOCH = struct.Struct("<3q")


class Stream(Lane):
    def __init__(self, bundle: SimpleNamespace) -> None:
        super().__init__(bundle)
        self.epochs: list[Epoch] = []
        self.fetcher: Any = None
        self.items: Any = None
        self.failure: Exception | None = None  # of iter()
        self.ended = False

    @property
    def place(self) -> bytes:
        return b"".join(_EPOCH.pack(epoch.name, epoch.told, epoch.asked) for epoch in self.epochs)

    def ask(self, keys: list[int]) -> Taken:
        name, told = keys
        if not self.epochs or self.epochs[-1].name != name:
            self.begin_epoch(name, told)
        return self.fetch()

    def replay(self, place: bytes) -> None:
        for name, told, asked in _EPOCH.iter_unpack(place):
            self.begin_epoch(name, told)
            for _ in range(asked):
                self.fetch()

    def begin_epoch(self, name: int, told: int) -> None:
        from torch.utils.data._utils import fetch

        bundle = self.bundle
        self.epochs.append(Epoch(name, told))
        self.ended, self.failure = False, None
        try:
            if told >= 0:
                holder_of(bundle.dataset).set_epoch(told)
            self.fetcher = fetch._IterableDatasetFetcher(
                bundle.dataset, bundle.auto_collation, bundle.collate_fn, bundle.drop_last
            )
            self.items = self.fetcher.dataset_iter = Counted(self.fetcher.dataset_iter)
        except Exception as error:
            self.failure = error

    def fetch(self) -> Taken:
        if self.ended:
            return Taken(LANE_ENDED)
        self.epochs[-1].asked += 1
        if self.failure is not None:
            return Taken(RAISED, self.failure)
        before = self.items.count
        try:
            value = self.fetcher.fetch([None] * (self.bundle.batch_size or 1))
        except StopIteration:
            self.ended = True
            return Taken(LANE_ENDED)
        except Exception as error:
            return Taken(RAISED, error)
        return Taken(MADE, value, self.items.count - before)


class Counted:
    def __init__(self, items: Iterator[Any]) -> None:
        self.items = items
        self.count = 0

    def __iter__(self) -> "Counted":
        return self

    def __next__(self) -> Any:
        item = next(self.items)
        self.count += 1
        return item
