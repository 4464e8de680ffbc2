"""Native plans go on being compared while they are used.

Admission (admission.py) compares a few samples before the first batch. After that, the loader's
reference (reference.py) makes some samples again while the program goes on: of each worker's first
batch, and of a regular share of the batches. It makes them from the same key and the same generator
state. They are compared when they are ready, at the latest when the epoch ends. A difference is an
error of the next call of next(), or a line, as HEADRACE_ON_DIFFERENCE says, and the plan is
withdrawn: its loaders run as Python from their next iter() on.

Which generator state: with rng "torch" the lane's at the batch's beginning, which the planner tells as a
count of draws, so the samples compared are the batch's first ones; with rng "sample" the sample's seed.
"""

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from ..capture import NativePlan
from ..errors import SamplesDiffer
from ..native import binding
from ..native.targets import same_value
from ..records import dataclass
from ..service import options
from ..service.report import LoaderReport, say
from . import admission
from .admission import fields_of
from .asks import GO_ON, Ask, Start
from .bits import copy_of, same_bits
from .lane_state import numpy_seed
from .plain import Plain
from .reference import Reference, ReferenceLost

_SAMPLES = 4  # of a batch
_MOST_WAITING = 4  # batches whose reference is being made
_PATIENCE = 30.0  # seconds at the end of an epoch
_SEEDS = 2**64


class Kept(Protocol):
    """The part of a loader's kept state (serve/loader_state.py) that a comparison needs."""

    report: LoaderReport
    compares: bool

    def workers_met(self, signature: str) -> set[int]: ...


@dataclass
class _Waiting:
    """Samples that were handed out, and whose reference is being made."""

    number: int  # of the batch
    worker: int
    ticket: int  # of the reference
    keys: list[int]
    rows: list[list[Any] | None]  # None: no worker made it


def comparison_of(
    loader: Any, captured: NativePlan, reference: Reference, state: Kept
) -> "Comparison | Plain":
    if options.from_environment().compare == 0 or not state.compares:
        return Plain()
    return Comparison(loader, captured, reference, state)


class Comparison:
    """The comparisons of one iterator; its thread. Forks the reference when an epoch begins in
    which it may compare."""

    def __init__(
        self, loader: Any, captured: NativePlan, reference: Reference, state: Kept
    ) -> None:
        settings = options.from_environment()
        self._every = settings.compare
        self._raises = settings.on_difference == "raise"
        self._captured = captured
        self._reference = reference
        self._report: LoaderReport = state.report
        self._met: set[int] = state.workers_met(captured.signature)
        self._lanes = captured.plan.lanes
        self._rng = captured.plan.rng
        self._in_order = getattr(loader, "in_order", True) or loader.num_workers < 2
        self._most = _length_of(loader)
        self._waiting: list[_Waiting] = []
        self._open: dict[int, Sequence[int]] = {}  # batch -> its keys
        self._seeds: dict[int, list[int]] = {}  # batch -> its samples' seeds
        self._uses = np.zeros(captured.rows.count if self._rng == "sample" else 0, np.uint32)
        self._on = False

    # Called by the iterator.

    def begin(self, raw: Any, base_seed: int, first_batch: int) -> None:
        """An epoch, of a session that has begun. `base_seed`: of its lanes or samples."""
        self._open.clear()
        self._seeds.clear()
        self._uses[:] = 0
        self._raw, self._base_seed = raw, base_seed
        left = self._every - self._report.batches % self._every
        due = not self._met or self._most is None or self._most - first_batch >= left
        # In other orders a lane's state is not known before its batch. After a resume the
        # occurrence of a key is not known.
        known = self._in_order if self._rng == "torch" else first_batch == 0
        self._on = bool(known and (due or self._reference.started))
        self._next, self._count = first_batch, self._report.batches
        self._draws: list[int] | None = None
        if self._on and not self._started():
            self._on = False
        self._look_ahead()

    def submitted(self, number: int, keys: Sequence[int], odd: bool) -> None:
        if not self._on:
            return
        if self._rng == "sample":
            self._seeds[number] = self._seeds_of(keys)
        if not odd:
            self._open[number] = keys

    def delivered(self, batch: Any, fields: list[torch.Tensor]) -> None:
        """Before the program sees it. Raises SamplesDiffer, for a batch of before."""
        if not self._on:
            return
        keys, seeds = self._open.pop(batch.batch, None), self._seeds.pop(batch.batch, None)
        try:
            if keys is not None and fields and self._is_wanted(batch):
                self._ask(batch, keys, seeds, fields)
            self._next, self._count = batch.batch + 1, self._count + 1
            self._look_ahead()
            if batch.missing:
                self._draws = None  # if one of them raises, its lane goes on from elsewhere
            self._settle(0.0)
        except ReferenceLost as lost:
            self._give_up(lost)

    def finish(self) -> None:
        """The epoch has ended. Raises SamplesDiffer."""
        try:
            self._settle(_PATIENCE)
        except ReferenceLost as lost:
            self._give_up(lost)

    # Which.

    def _is_due(self) -> bool:
        """Whether the next batch is due for a comparison."""
        return (self._count + 1) % self._every == 0

    def _is_wanted(self, batch: Any) -> bool:
        if len(self._waiting) >= _MOST_WAITING:
            return False
        if self._rng == "torch" and (self._draws is None or batch.batch != self._next):
            return False
        return batch.worker not in self._met or self._is_due()

    def _look_ahead(self) -> None:
        """How far the lanes have drawn, where the next batch may be wanted: one of a worker that was
        not met can come until each has had its turn."""
        self._draws = None
        if not self._on or self._rng != "torch":
            return
        if self._is_due() or self._next < 2 * self._lanes or not self._met:
            try:
                self._draws = self._raw.lane_draws()
            except binding.HeadraceError:
                pass  # a lane whose generator went another way than by draws

    # What.

    def _ask(self, batch: Any, keys: Any, seeds: Any, fields: list[torch.Tensor]) -> None:
        places = self._places(len(keys), batch.batch)
        lane = batch.batch % self._lanes
        asks: list[Ask] = []
        for place in places:
            start = GO_ON
            if self._rng == "sample":
                start = Start(seed=seeds[place])
            elif self._rng == "torch" and not asks:
                assert self._draws is not None  # or the batch is not wanted
                start = self._start_of(lane, self._draws)
            asks.append(Ask(keys[place], start))
        missing = {sample.position for sample in batch.missing}
        self._met.add(batch.worker)
        self._waiting.append(
            _Waiting(
                batch.batch,
                batch.worker,
                self._reference.ask(asks),
                [keys[place] for place in places],
                [None if i in missing else self._copies(fields, i) for i in places],
            )
        )

    def _copies(self, fields: list[Any], at: int) -> list[Any]:
        beside = self._captured.beside
        return [
            copy.deepcopy(f[at]) if number in beside else copy_of(f[at])
            for number, f in enumerate(fields)
        ]

    def _start_of(self, lane: int, draws: list[int]) -> Start:
        seeds = self._captured.seeds(self._base_seed)
        places = list(zip(seeds[lane :: self._lanes], draws[lane :: self._lanes], strict=True))
        (seed, position), *others = places
        python, numpy = others[0] if others else None, None
        if others[1:]:
            seed_of_numpy, drawn = others[1]
            numpy = numpy_seed(seed_of_numpy, self._base_seed, lane), drawn
        return Start(lane_seed=seed, position=position, python=python, numpy=numpy)

    def _places(self, count: int, number: int) -> list[int]:
        """The places of the samples to compare; with lanes that draw, those at the beginning."""
        few = min(_SAMPLES, count)
        if self._rng == "torch":
            return list(range(few))
        return sorted({(number + i * count // few) % count for i in range(few)})

    def _seeds_of(self, keys: Sequence[int]) -> list[int]:
        seeds = []
        for key in keys:
            if not 0 <= key < len(self._uses):  # no sample that the service makes
                seeds.append(0)
                continue
            seeds.append(binding.sample_seed(self._base_seed % _SEEDS, key, int(self._uses[key])))
            self._uses[key] += 1
        return seeds

    # And whether it is so.

    def _settle(self, patience: float) -> None:
        while self._waiting:
            made = self._reference.answers(self._waiting[0].ticket, patience)
            if made is None:
                return
            self._compare(self._waiting.pop(0), made)

    def _compare(self, waiting: _Waiting, made: list[Any]) -> None:
        for key, row, sample in zip(waiting.keys, waiting.rows, made, strict=True):
            theirs = fields_of(sample, self._captured.structure, self._captured.beside)
            if row is None:
                if theirs is None:
                    break  # it raises: the stock loader makes nothing after it
                continue
            self._report.compared_samples += 1
            what = _difference(row, theirs, self._captured.beside)
            if what:
                self._report.different_samples += 1
                self._raw.add_comparison(equal=False)
                self._found(key, waiting, what)
                return
        self._raw.add_comparison(equal=True)

    def _found(self, key: int, waiting: _Waiting, what: str) -> None:
        reason = (
            f"sample {key} of batch {waiting.number}, made by worker {waiting.worker}, is not what the "
            f"dataset's own code makes in a worker of the stock loader: {what}. The program has "
            "it already"
        )
        admission.withdraw(self._captured, reason)
        self._on = False
        if self._raises:
            raise SamplesDiffer(
                f"DataLoader({self._captured.name}): {reason}. `headrace verify` names the transform; "
                "HEADRACE_ON_DIFFERENCE=warn goes on, without native code from the next iter() on"
            )
        say(self._report, self._captured.name, reason)

    def _started(self) -> bool:
        try:
            self._reference.start()
        except (ReferenceLost, OSError) as error:
            self._give_up(error)
            return False
        return True

    def _give_up(self, error: Exception) -> None:
        self._on = False
        self._waiting.clear()
        say(self._report, self._captured.name, f"is not compared any more: {error}")


def _difference(row: list[Any], theirs: list[Any] | None, beside: Sequence[int]) -> str:
    """Empty: none."""
    if theirs is None:
        return "it raises there"
    if len(row) != len(theirs):
        return f"{len(row)} fields and {len(theirs)}"
    for i, (mine, other) in enumerate(zip(row, theirs, strict=True)):
        if not (same_value if i in beside else same_bits)(mine, other):
            return f"field {i} differs"
    return ""


def _length_of(loader: Any) -> int | None:
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None
