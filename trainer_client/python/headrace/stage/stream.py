"""A lane of an iterable data set: the iterator that one worker of the stock loader would run.

An iterator cannot travel. What comes with each request instead of a random state is the lane's
*place*: for each epoch since the lane was seeded its name, what the data set was told of it, and how
many batches were asked for in it. A host that is not at the place is a fresh one (the worker sees to
that). It gets there by running the lane from its beginning, silently: what the code prints on its way
was printed before.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .epoch import holder_of
from .wire import LANE_ENDED, MADE, RAISED, Request


@dataclass
class Epoch:
    """keys of a request: name and told."""

    name: int  # unlike those of other epochs
    told: int  # argument of the data set's set_epoch(); -1: it has none to be told
    asked: int = 0


_EPOCH = struct.Struct("<3q")


def read_place(data: bytes) -> list[Epoch]:
    return [Epoch(*numbers) for numbers in _EPOCH.iter_unpack(data)]


def write_place(place: list[Epoch]) -> bytes:
    return b"".join(_EPOCH.pack(epoch.name, epoch.told, epoch.asked) for epoch in place)


@dataclass
class Taken:
    outcome: int
    value: Any = None  # the batch, or what was raised
    samples: int = 0


class Stream:
    """REQUIRES: its process is seeded and has run worker_init_fn when take() is called first."""

    def __init__(self, bundle: SimpleNamespace) -> None:
        self.bundle = bundle
        self.place: list[Epoch] = []
        self.fetcher: Any = None
        self.items: Any = None
        self.failure: Exception | None = None  # of iter()
        self.ended = False
        self.last: tuple[Any, Taken] | None = None

    def take(self, request: Request) -> Taken:
        """The batch behind the request's place. The same one when it is asked for again."""
        asked = request.state, request.keys
        if self.last is None or self.last[0] != asked:
            self.last = None
            self.go_to(read_place(request.state))
            name, told = request.keys
            if not self.place or self.place[-1].name != name:
                self.begin_epoch(name, told)
            self.last = asked, self.fetch()
        return self.last[1]

    def go_to(self, place: list[Epoch]) -> None:
        if self.place == place:
            return
        assert not self.place, "a host that has gone on cannot go back"
        for epoch in place:
            self.begin_epoch(epoch.name, epoch.told)
            for _ in range(epoch.asked):
                self.fetch()

    def begin_epoch(self, name: int, told: int) -> None:
        from torch.utils.data._utils import fetch

        bundle = self.bundle
        self.place.append(Epoch(name, told))
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
        self.place[-1].asked += 1
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
