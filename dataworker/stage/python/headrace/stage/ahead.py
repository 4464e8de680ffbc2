"""Ahead of the code: files of the keys that come next are read before the code asks for them.

A lane knows the keys of its batch, and its worker those that wait. Where the code waits for files, the lane learns
which files a key reads (ahead_rules.py), and tells its worker those of the next keys. Where it finds no rule, it
tells what each sample has opened, and the worker remembers that for the next epoch. The worker reads them on
threads of its own, into the kernel's page cache. The code then reads what it would have read, from there. So
nothing depends on a prediction but time. Why so: docs/adr/0097-ahead-of-the-code.md.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import ahead_seen
from .ahead_choice import Choice
from .ahead_decoding import DecodedAhead, of_lane
from .ahead_door import MOST_BYTES, AheadDoor, Question, Said
from .ahead_rules import Rules

# Keys that are said ahead of the one at hand; again, when fewer than the second are left.
_WINDOW, _AGAIN = 64, 32
_ASKS_AFTER = 8  # samples, where the worker knew of no more keys
_WITHOUT = 32  # samples in a row that open no file: there is nothing to read ahead
_CHECKS_EACH = 8  # samples: one of them is compared with what was foretold
_MOST_REMEMBERED = 8  # files of a key
_SHORT, _PASSED = (
    0.002,
    15,
)  # seconds of a batch after which so many are not looked at: a look takes 3 µs
_LOOKS = 8  # samples at the beginning after each of which the lane looks whether it waits


class Waits:
    """Of the calling thread, for anything but a processor. One thread, which made it."""

    def __init__(self) -> None:
        self._fd = -1
        try:
            self._fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass  # a kernel that does not count it

    def __call__(self) -> float:
        """Seconds on a processor, or waiting for one; 0: it is not known. What is left of the time is waiting."""
        if self._fd < 0:
            return 0.0
        try:
            ran, stood, _ = os.pread(self._fd, 128, 0).split()
            return (int(ran) + int(stood)) / 1e9
        except (OSError, ValueError):  # the program has closed it
            self._fd = -1
            return 0.0

    @property
    def known(self) -> bool:
        return self._fd >= 0


class Ahead:
    """One lane's. One thread; a fork has none."""

    def __init__(
        self,
        dataset: Any,
        ask: Callable[[Question], Said | None] | None = None,
        clock: Callable[[], float] = time.perf_counter,
        busy: Any = None,
        decoded: DecodedAhead | None = None,
    ) -> None:
        """`ask`: as AheadDoor.ask; `busy`: as Waits; `decoded`: pictures; None: they are not."""
        self._ask = ask or AheadDoor().ask
        self._clock, self._busy = clock, busy or Waits()
        self._rules = Rules(dataset)
        self._choice = Choice(clock())
        self._decoded = decoded
        self._pid = os.getpid()
        self._lane = 0
        self._coming: list[int] = []  # the batch's keys, and those that wait
        self._batch = 0  # how many of them are the batch's
        self._said = 0  # up to where the worker was told of them
        self._asked_at = 0  # the sample
        self._samples = 0
        self._without = 0  # samples in a row that opened no file
        self._opened: list[tuple[int, list[str]]] = []  # that the worker is to remember
        self._opened_bytes = 0
        self._mark: tuple[float, float] | None = None
        self._passes = 0  # batches

    def watches(self) -> bool:
        """Whether the batch that begins is looked at, sample by sample."""
        if self._passes > 0:
            self._passes -= 1
            return False
        self._choice.begin_batch()
        if self._decoded is not None:
            self._decoded.begin_batch()
        self._mark = self._clock(), self._busy()
        if not self._busy.known or os.getpid() != self._pid:
            return False
        if self._decodes:
            return True
        return not self._choice.rests and (self._choice.on or self._samples < _LOOKS)

    @property
    def _decodes(self) -> bool:
        return self._decoded is not None and self._decoded.on

    @property
    def _on(self) -> bool:
        return self._choice.on or self._decodes

    def batch(self, lane: int, keys: list[Any], source: Any) -> Iterator[Any]:
        """Yields what `source` does, the keys. The sample of each is made before the next one is asked for."""
        self._lane = lane
        self._begin(keys)
        try:
            for at, key in enumerate(source):
                self._tell(at)
                ahead_seen.files = files = self._wanted(key)
                yield key
                ahead_seen.files = None
                if files is not None:
                    self._learn(key, files)
                self._samples += 1
                if not self._on and self._samples <= _LOOKS:
                    self.look()
        finally:
            ahead_seen.files = None

    def look(self, at_end: bool = False) -> None:
        """Notes what was waited for since the batch began, or since the last look. `at_end`: of the batch. Between
        two batches a lane waits for its worker."""
        if self._mark is None:
            return
        now, busy = self._clock(), self._busy()
        if not self._busy.known:
            return
        took = now - self._mark[0]
        self._choice.saw(max(0.0, took - (busy - self._mark[1])), took)
        if self._decoded is not None:
            self._decoded.saw()
        self._mark = None if at_end else (now, busy)
        if at_end and took < _SHORT and not self._on:
            self._passes = _PASSED
        if self._on:
            ahead_seen.listen()

    def _wanted(self, key: int) -> set[str] | None:
        """Where the files of the next sample are noted; None: nobody needs them."""
        if not self._on:
            return None
        if self._rules.is_proven(key):
            return set() if self._samples % _CHECKS_EACH == 0 else None
        return set()

    def _learn(self, key: int, files: set[str]) -> None:
        self._without = 0 if files else self._without + 1
        if self._without == _WITHOUT:
            self._without = 0
            if self._choice.on:
                self._choice.end()
            return
        self._rules.learn(key, files)
        if files and self._rules.has_given_up(key):
            paths = [absolute(path) for path in sorted(files)[:_MOST_REMEMBERED]]
            size = sum(len(os.fsencode(path)) + 1 for path in paths) + 24
            if self._opened_bytes + size <= MOST_BYTES:
                self._opened.append((key, paths))
                self._opened_bytes += size

    def _begin(self, keys: list[int]) -> None:
        rest = self._coming[self._batch :]
        said = self._said - self._batch
        alike = rest[: len(keys)] == keys[: len(rest)]
        if self._decoded is not None:
            self._decoded.next_batch(self._batch, len(rest), alike)
        follows = said > 0 and alike
        self._coming, self._batch = list(keys), len(keys)
        self._said = min(said, len(keys)) if follows else 0
        self._asked_at = -_ASKS_AFTER

    def _tell(self, at: int) -> None:
        """Before the sample at this place of the batch."""
        if self._decoded is not None and self._decoded.on:
            waiting = self._decoded.tell(at, self._lane, self._coming, self._files_of)
            if waiting is not None:
                self._coming[self._batch :] = waiting
        if self._said - at > _AGAIN or not self._choice.may_spend(self._clock()):
            return
        first = max(self._said, at + 1)  # the code reads this one by itself now
        if first >= len(self._coming) and at - self._asked_at < _ASKS_AFTER:
            return
        last = self._coming[min(first, len(self._coming) - 1)]
        if not self._rules.is_proven(last) and not self._rules.has_given_up(last):
            return  # it is being learned
        began = self._clock()
        asked, self._said = self._question(first)
        self._asked_at = at
        self._opened, self._opened_bytes = [], 0
        said = self._ask(asked)
        if said is None:
            self._choice.end()
        else:
            self._choice.told(said.looked_at, said.waited_for)
            self._coming[self._batch :] = said.waiting
        self._choice.spent(self._clock() - began)

    def _files_of(self, key: int) -> list[str] | None:
        """None: nobody knows yet."""
        if not self._rules.is_proven(key) and not self._rules.has_given_up(key):
            return None
        return [absolute(path) for path in self._rules.predict(key)]

    def _question(self, first: int) -> tuple[Question, int]:
        """About the keys from there on, and up to where they are."""
        asked = Question(self._lane, [], [], self._opened)
        size = 0
        end = min(first + _WINDOW, len(self._coming))
        for at in range(first, end):
            key = self._coming[at]
            if self._rules.has_given_up(key):
                asked.keys.append(key)
            for path in map(absolute, self._rules.predict(key)):
                size += len(os.fsencode(path)) + 1
                if size > MOST_BYTES:
                    return asked, at
                asked.paths.append(path)
        return asked, end


# Looked at before lanes are forked, and in lanes.
possible = True


def of(dataset: Any) -> Ahead | None:
    """For a lane of this data set; None: it is asked for batches in a way that hides its samples."""
    if not possible or not _is_asked_by_sample(dataset):
        return None
    return Ahead(dataset, decoded=of_lane())


def look(ahead: Ahead | None) -> None:
    """A batch is made."""
    if ahead is not None:
        ahead.look(at_end=True)


def _is_asked_by_sample(dataset: Any) -> bool:
    """Whether torch's fetcher asks for one sample after the other. Its own Subset does, of such a data set."""
    subset = getattr(sys.modules.get("torch.utils.data.dataset"), "Subset", None)
    while type(dataset) is subset and dataset is not None:
        dataset = dataset.dataset
    return not getattr(dataset, "__getitems__", None)


def absolute(path: str) -> str:
    """As this process means it: its worker runs elsewhere."""
    return path if path.startswith("/") else f"{os.getcwd()}/{path}"


class KeysAhead(list[Any]):
    """The keys of a batch, whose files are read ahead."""

    def __init__(self, keys: list[Any], ahead: Ahead, lane: int) -> None:
        super().__init__(keys)
        self._source, self._ahead, self._lane = keys, ahead, lane

    def __iter__(self) -> Iterator[Any]:
        return self._ahead.batch(self._lane, list(list.__iter__(self)), self._source)
