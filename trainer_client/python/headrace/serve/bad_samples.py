"""What the trainer does with samples that can't be made: docs/reference/bad-samples.md.

Those that a worker process of this host meets, it handles there (stage/bad_samples.py). Those of native
plans come back to the trainer, which does the same with them. Both write into one log, from which the
trainer counts and tells.
"""

import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from torch.utils.data.dataloader import _DatasetKind

from ..errors import HeadraceError
from ..native import binding
from ..process.bad_log import BadLog
from ..process.own_imports import Late
from ..service.bad_sample_policy import policy_of
from ..service.report import LoaderReport, print_line, say
from ..stage.bad_samples import Guard, GuardingInit, Place

if TYPE_CHECKING:
    from ..admission import samples
else:
    samples = Late("headrace.admission.samples")

_SAY_EVERY = 1.0  # seconds between two lines


class Programs:
    """What all loaders of this process have in common. Thread-safe; a fork has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner = 0
        self._log: BadLog | None = None
        self._seen = 0
        self._numbers = itertools.count()
        self._sinks: weakref.WeakValueDictionary[int, Sink] = weakref.WeakValueDictionary()

    @property
    def log(self) -> BadLog:
        if self._log is None or self._owner != os.getpid():
            self._log, self._owner, self._seen = BadLog(), os.getpid(), 0
            self._lock = threading.Lock()
        return self._log

    def number(self, sink: "Sink") -> int:
        number = next(self._numbers)
        self._sinks[number] = sink
        return number

    def take(self) -> None:
        """Gives what has come into the log to the loaders that it is of."""
        log = self.log
        if log.count == self._seen:
            return
        with self._lock:
            self._seen, entries = log.after(self._seen)
        for entry in entries:
            sink = self._sinks.get(entry.get("loader", -1))
            if sink is not None:
                sink.met(entry)


PROGRAM = Programs()


class Sink:
    """Where the bad samples of one loader are counted and told. One thread.

    `session`: the native session, or None while there is none."""

    def __init__(
        self,
        report: LoaderReport,
        name: str,
        dataset: Any,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report, self._name, self._dataset = report, name, dataset
        self._clock = clock
        self._said_at = -_SAY_EVERY
        self._unsaid = 0
        self.session: Callable[[], Any] = lambda: None

    def met(self, entry: dict[str, Any]) -> None:
        index, cause, way = entry.get("index"), str(entry.get("cause")), entry.get("way")
        path = samples.file_of(self._dataset, index) if isinstance(index, int) else ""
        self._report.bad_sample(index, path, cause, str(way))
        session = self.session()
        if session is not None and isinstance(index, int):
            with suppress(HeadraceError, binding.HeadraceError):  # the service has ended
                session.report_bad_sample(index, name=path, cause=cause, left_out=True)
        done = "left out" if way == "skip" else "replaced by another one"
        where = f" ({path})" if path else ""
        self._say(f"sample {index}{where} is {done}: {cause}")

    def _say(self, text: str) -> None:
        """At most one line a second: a broken disk makes thousands."""
        now = self._clock()
        if now - self._said_at < _SAY_EVERY:
            self._unsaid += 1
            return
        more = f" (and {self._unsaid} more before it)" if self._unsaid else ""
        self._said_at, self._unsaid = now, 0
        print_line(f"headrace: DataLoader({self._name}) {text}{more}")


class BadSamples:
    """The bad samples of one loader's iterator. One thread."""

    def __init__(self, loader: Any, report: LoaderReport, name: str) -> None:
        self.policy = policy_of(loader)
        self._report, self._name = report, name
        self.sink = Sink(report, name, loader.dataset)
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        self.guard: Guard | None = None
        if self.policy.guards and not self._iterable:
            self.guard = Guard(self.policy, PROGRAM.log, PROGRAM.number(self.sink))
        elif self.policy.goes_on:
            say(
                report,
                name,
                f"raises what its iterable data set raises, whatever on_bad_sample={self.policy.way} "
                "says: only the data set knows how to go on",
            )

    @property
    def goes_on(self) -> bool:
        return self.guard is not None and self.policy.goes_on

    def take(self) -> None:
        """Counts and tells what has happened since the last call."""
        if self.guard is not None:
            PROGRAM.take()

    def over(self, stock: Any, base_seed: int) -> Any:
        """The fetcher of an iterator without worker processes."""
        return stock if self.guard is None else self.guard.over(stock, Place(base_seed))

    def cannot(self) -> None:
        """Says that another library's iterator is nobody's to guard."""
        if self.goes_on:
            text = f"raises, whatever on_bad_sample={self.policy.way} says: its iterator is not torch's"
            say(self._report, self._name, text)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """What is met inside was told before."""
        guard = self.guard
        if guard is not None:
            guard.silent = True
        try:
            yield
        finally:
            if guard is not None:
                guard.silent = False

    def shown(self, loader: Any) -> Any:
        """The loader that torch's code sees when it makes worker processes."""
        if self.guard is None or loader.num_workers == 0:
            return loader
        return _Guarded(loader, GuardingInit(self.guard, loader.worker_init_fn))


class _Guarded:
    def __init__(self, loader: Any, init_fn: Any) -> None:
        self._loader = loader
        self.worker_init_fn = init_fn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
