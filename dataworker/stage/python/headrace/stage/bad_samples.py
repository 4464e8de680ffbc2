"""Samples that can't be made, in the process that makes them: the program goes on without.

A guard stands in the place of torch's fetcher of map-style data sets, and asks for one sample after the
other. What a bad sample drew from the random generators before it raised is drawn: the sample after it
goes on from there. A substitute draws from a seed of its own, and leaves the generators as they were.
docs/reference/bad-samples.md says what a program may count on.
"""

import faulthandler
import hashlib
import operator
import random
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..errors import SampleDeadline
from ..process.bad_log import BadLog
from ..records import dataclass

WAYS = ("raise", "skip", "substitute")
TRIES = 8  # substitutes that are tried for one sample
_NOTHING = object()
_AFTER = 2.0  # deadlines after which a process ends that does not come back to Python


@dataclass(frozen=True)
class Policy:
    """What is done with a bad sample. Pickles."""

    way: str = "raise"
    most: int = (
        -1
    )  # bad samples of the program, after which the next one's exception is raised; -1: any
    deadline: float = 0.0  # seconds for one sample of the program's code; 0: none
    # The sampler draws from the whole data set, so that any of its samples may be a substitute. Else it
    # is another one of the same batch.
    covers_all: bool = False

    @property
    def goes_on(self) -> bool:
        return self.way != "raise"

    @property
    def guards(self) -> bool:
        return self.goes_on or self.deadline > 0


@dataclass(frozen=True)
class Place:
    """Where samples are made: what decides a substitute beside the sample's own index."""

    seed: int  # the iterator's base seed
    epoch: int = 0  # of those that go on with the same base seed


def number_of(*parts: Any) -> int:
    """63 bits that depend on these values alone."""
    text = "/".join(map(_text, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def _text(part: Any) -> str:
    try:
        return str(operator.index(part))
    except TypeError:
        return repr(part)


def substitutes(
    place: Place, index: Any, batch: list[Any], bad: list[Any], count: int | None
) -> Iterator[tuple[Any, int]]:
    """Indices of other samples, with a seed for each: at most TRIES of them. `batch`, `bad`: indices of
    the batch, and those of them that can't be made. `count`: rows of the data set, of which any will
    do; None: it must be one of the batch."""
    others = [other for other in batch if not _among(other, bad)]
    for trial in range(TRIES):
        drawn = number_of("substitute", place.seed, place.epoch, index, trial)
        if count is not None:
            other = drawn % count if count > 0 else None
            if other is None or _among(other, bad):
                continue
        elif others:
            other = others.pop(drawn % len(others))
        else:
            return
        yield other, number_of("generators", drawn)


def _among(index: Any, indices: list[Any]) -> bool:
    return any(_text(index) == _text(one) for one in indices)


def cause_of(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def entry_of(loader: int, index: Any, cause: str, way: str) -> dict[str, Any]:
    """What the log is told."""
    try:
        index = operator.index(index)
    except TypeError:
        index = repr(index)
    return {"loader": loader, "index": index, "cause": cause, "way": way}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The generators of torch's CPU, Python and NumPy begin from `seed` inside, and go on after it as if
    nothing had been."""
    import torch

    numpy = sys.modules.get("numpy")
    kept = torch.get_rng_state(), random.getstate()
    of_numpy = numpy.random.get_state() if numpy is not None else None
    try:
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        if numpy is not None:
            numpy.random.seed(seed & 0xFFFFFFFF)
        yield
    finally:
        torch.set_rng_state(kept[0])
        random.setstate(kept[1])
        if numpy is not None:
            numpy.random.set_state(of_numpy)


_late_for = ""  # what is said when the alarm comes; empty: nobody waits for it


def _late(number: int, frame: FrameType | None) -> None:
    global _late_for
    what, _late_for = _late_for, ""
    if what:
        faulthandler.cancel_dump_traceback_later()
        raise SampleDeadline(what)


def take_alarm() -> None:
    """Makes within() work in this process. A handler that it was forked with waits for an alarm of
    another process."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGALRM, _late)


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """What takes longer inside ends with SampleDeadline. Code that does not come back to Python can't
    be ended so: after twice the time its process ends, and says where it was. Of use in the main thread
    of a process that has taken the alarm (take_alarm), and whose code then sets none of its own;
    elsewhere there is no deadline."""
    global _late_for
    if (
        seconds <= 0
        or threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGALRM) is not _late
    ):
        yield
        return
    _late_for = f"{what} was not made within {seconds:g} s"
    faulthandler.dump_traceback_later(_AFTER * seconds, exit=True, file=2)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        _late_for = ""
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()


class GuardedFetcher:
    """Replaces a fetcher of torch's for map-style data sets. `stock`: that fetcher. One thread."""

    def __init__(self, stock: Any, guard: "Guard", place: Place) -> None:
        self.dataset = stock.dataset
        self.auto_collation = stock.auto_collation
        self.collate_fn = stock.collate_fn
        self.drop_last = stock.drop_last
        self._guard, self._place = guard, place

    def fetch(self, index: Any) -> Any:
        """The batch; without its bad samples, or with others in their place."""
        if not self.auto_collation:
            rows = self._rows([index], by_item=True)
            return self.collate_fn(rows[0])
        return self.collate_fn(self._rows(index, by_item=_is_by_item(self.dataset)))

    def _rows(self, indices: Any, by_item: bool) -> Any:
        if not by_item:
            kept = _generators()
            try:
                with self._in_time("a batch", len(indices)):
                    return self.dataset.__getitems__(indices)
            except Exception:
                if not self._guard.policy.goes_on:
                    raise
            _restore(kept)  # one by one, then, to find which it is
        batch: list[Any] = []
        rows: list[Any] = []
        bad: list[tuple[int, Any, Exception]] = []
        for index in indices:
            batch.append(index)
            try:
                rows.append(self._row(index, by_item))
            except Exception as error:
                if not self._guard.policy.goes_on:
                    raise
                bad.append((len(rows), index, error))
                rows.append(_NOTHING)
        return self._without(bad, rows, batch, by_item) if bad else rows

    def _without(
        self,
        bad: list[tuple[int, Any, Exception]],
        rows: list[Any],
        batch: list[Any],
        by_item: bool,
    ) -> list[Any]:
        guard = self._guard
        skips = guard.policy.way == "skip"
        keeps = not skips or len(bad) < len(rows)
        for number, (at, index, error) in enumerate(bad):
            leaves_out = skips and (keeps or number > 0)  # a batch of nothing is no batch
            if not guard.tell(index, cause_of(error), "skip" if leaves_out else "substitute"):
                raise error
            if not leaves_out:
                rows[at] = self._substitute(index, error, batch, [i for _, i, _ in bad], by_item)
        return [row for row in rows if row is not _NOTHING]

    def _substitute(
        self, index: Any, error: Exception, batch: list[Any], bad: list[Any], by_item: bool
    ) -> Any:
        count = len(self.dataset) if self._guard.policy.covers_all else None
        for other, seed in substitutes(self._place, index, batch, bad, count):
            try:
                with seeded(seed):
                    return self._row(other, by_item)
            except Exception:
                continue
        raise error

    def _row(self, index: Any, by_item: bool) -> Any:
        with self._in_time(f"sample {_text(index)}"):
            return self.dataset[index] if by_item else self.dataset.__getitems__([index])[0]

    def _in_time(self, what: str, samples: int = 1) -> Any:
        guard = self._guard
        return within(guard.policy.deadline * samples if guard.in_worker else 0, what)


def _is_by_item(dataset: Any) -> bool:
    """Whether the stock fetcher asks for one sample after the other."""
    from torch.utils.data import Subset

    while type(dataset) is Subset and callable(getattr(dataset, "__getitems__", None)):
        dataset = dataset.dataset  # whose __getitems__ does so too, if this has none
    return not getattr(dataset, "__getitems__", None)


def _generators() -> Any:
    import torch

    numpy = sys.modules.get("numpy")
    of_numpy = numpy.random.get_state() if numpy is not None else None
    return torch.get_rng_state(), random.getstate(), of_numpy


def _restore(kept: Any) -> None:
    import torch

    torch.set_rng_state(kept[0])
    random.setstate(kept[1])
    if kept[2] is not None:
        sys.modules["numpy"].random.set_state(kept[2])


class Guard:
    """Watches over the samples of one loader. Pickles."""

    def __init__(self, policy: Policy, log: BadLog, loader: int) -> None:
        """`loader`: its number in the log."""
        self.policy = policy
        self.log = log
        self.loader = loader
        self.in_worker = False
        self.silent = False  # what is made was made before, and was told

    def tell(self, index: Any, cause: str, way: str) -> bool:
        """Notes a bad sample. False: there were too many."""
        if self.silent:
            return True
        count = self.log.add(entry_of(self.loader, index, cause, way))
        return not 0 <= self.policy.most < count

    def over(self, stock: Any, place: Place) -> GuardedFetcher:
        return GuardedFetcher(stock, self, place)


# The guard of this worker process; None: it has none.
here: Guard | None = None


class GuardingInit:
    """A worker_init_fn that makes torch's worker loop fetch under guard, and does what the program's own
    does. Pickles where that one does."""

    def __init__(self, guard: Guard, init_fn: Any) -> None:
        self._guard, self._init_fn = guard, init_fn

    def __call__(self, worker_id: int) -> None:
        self._install()
        if self._init_fn is not None:
            self._init_fn(worker_id)

    def _install(self) -> None:
        from torch.utils.data import _utils, get_worker_info

        global here
        here, guard = self._guard, self._guard
        guard.in_worker = True
        if guard.policy.deadline > 0:
            take_alarm()
        info: Any = get_worker_info()
        stock = _utils.fetch._MapDatasetFetcher
        epoch = -1  # the loop makes a fetcher for each

        def fetcher(*arguments: Any) -> GuardedFetcher:
            nonlocal epoch
            epoch += 1
            return guard.over(stock(*arguments), Place(info.seed - info.id, epoch))

        _utils.fetch._MapDatasetFetcher = fetcher  # type: ignore[assignment,misc]  # of this process
