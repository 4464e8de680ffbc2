"""Lanes that keep what cannot travel: an iterator, or state of the code's own.

What comes with each request instead of a random state is the lane's *place*: all that was asked of it
since it was seeded. A host that is not at the place is a fresh one (the worker sees to that). It gets
there by running the lane from its beginning, silently: what the code prints on its way was printed
before.

Why so: docs/adr/0012-iterable-lanes.md, docs/adr/0019-lanes-with-state.md.
"""

import struct
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from .wire import MADE, RAISED, Request

_INT32 = range(-(2**31), 2**31)


@dataclass
class Taken:
    outcome: int
    value: Any = None  # the batch, or what was raised
    samples: int = 0


class Lane(ABC):
    """REQUIRES: its process is seeded and has run worker_init_fn when take() is called first."""

    def __init__(self, bundle: SimpleNamespace) -> None:
        self.bundle = bundle
        self._last: tuple[Any, Taken] | None = None

    def take(self, request: Request) -> Taken:
        """The batch behind the request's place. The same one when it is asked for again."""
        asked = request.state, request.keys
        if self._last is None or self._last[0] != asked:
            self._last = None
            self.go_to(request.state)
            self._last = asked, self.ask(request.keys)
        return self._last[1]

    def go_to(self, place: bytes) -> None:
        if self.place == place:
            return
        assert not self.place, "a host that has gone on cannot go back"
        self.replay(place)

    @property
    @abstractmethod
    def place(self) -> bytes:
        """Empty at the lane's beginning."""

    @abstractmethod
    def ask(self, keys: list[int]) -> Taken:
        """The next batch."""

    @abstractmethod
    def replay(self, place: bytes) -> None:
        """From the lane's beginning."""


class KeyedLane(Lane):
    """Of a map-style dataset: its place is the keys of each batch."""

    def __init__(self, bundle: SimpleNamespace) -> None:
        from torch.utils.data._utils import fetch

        super().__init__(bundle)
        self._place = b""
        self._fetcher = fetch._MapDatasetFetcher(
            bundle.dataset, bundle.auto_collation, bundle.collate_fn, bundle.drop_last
        )

    @property
    def place(self) -> bytes:
        return self._place

    def ask(self, keys: list[int]) -> Taken:
        self._place += _packed(keys)
        try:
            value = self._fetcher.fetch(keys if self.bundle.auto_collation else keys[0])
        except Exception as error:
            return Taken(RAISED, error)
        return Taken(MADE, value, len(keys))

    def replay(self, place: bytes) -> None:
        at = 0
        while at < len(place):
            keys, at = _unpacked(place, at)
            self.ask(keys)


def _packed(keys: list[int]) -> bytes:
    """Their number, below 0 where keys take eight bytes; the keys."""
    if all(key in _INT32 for key in keys):
        return struct.pack(f"<q{len(keys)}i", len(keys), *keys)
    return struct.pack(f"<{1 + len(keys)}q", -len(keys), *keys)


def _unpacked(data: bytes, at: int) -> tuple[list[int], int]:
    """And where the next ones are."""
    (count,) = struct.unpack_from("<q", data, at)
    form = f"<{count}i" if count >= 0 else f"<{-count}q"
    return list(struct.unpack_from(form, data, at + 8)), at + 8 + struct.calcsize(form)
