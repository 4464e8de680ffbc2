"""Samples of native plans that only the data set's own code can make, beside the trainer."""

import math
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from torch._utils import ExceptionWrapper

from ..admission.asks import Ask, Start
from ..admission.reference import Reference, ReferenceLost
from ..errors import SampleDeadline
from ..process.own_imports import Late
from ..service import service
from ..stage.bad_samples import Place, substitutes
from .bad_samples import BadSamples

if TYPE_CHECKING:
    from ..admission import samples
    from . import blame, missing
else:
    samples = Late("headrace.admission.samples")
    blame, missing = Late("headrace.serve.blame"), Late("headrace.serve.missing")


class MadeHere:
    """Mixed into Served: its samples that no worker makes. One thread.

    They are made as a worker of the stock loader would make them (missing.py). Where the program goes on
    without bad samples (bad_samples.py), it does so here, too."""

    _base_seed: Any
    _captured: Any
    _dataset: Any
    _handle: Any
    _lazy: bool
    _num_workers: int
    _reference: Reference
    _state: Any

    def _make_here(self, bad: BadSamples) -> None:
        """Before the first batch."""
        self._bad = bad
        here = weakref.ref(self)  # an iterator that is left ends its session at once

        def session() -> Any:
            iterator = here()
            handle = None if iterator is None else iterator._handle
            return None if handle is None else handle.raw

        bad.sink.session = session
        self._epoch = -1  # of those with the same base seed
        self._made: dict[tuple[int, int], samples.Made] = {}  # that the planner asked for
        self._odd: dict[int, Any] = {}  # batch -> its indices, where they are no numbers of rows
        self._left_out: set[int] = set()  # positions of the batch that is being delivered
        # Samples of the batch that is being delivered, if workers were lost with it.
        self._measured: list[blame.Measured] | None = None

    def _make_missing(
        self, batch: Any, way: Callable[..., dict[int, Any]] | None = None
    ) -> dict[int, Any]:
        """The missing samples by position, less those that are left out; by make_all, every one. Raises
        the first one's error, unless the program goes on without."""
        number = batch.batch
        bad: list[tuple[int, samples.Made]] = []

        def goes_on(position: int, sample: "samples.Made") -> bool:
            if self._bad.goes_on:
                bad.append((position, sample))
            return self._bad.goes_on

        ended = batch.missing and all(gap.detail == "EndsWorkers" for gap in batch.missing)
        self._measured = [] if ended and not self._lazy else None
        self._state.report.other_files += sum(samples.is_other_file(gap) for gap in batch.missing)
        try:
            made = (way or missing.make_missing)(
                batch,
                make=partial(self._make, number),
                made_before=lambda position: self._made.pop((number, position), None),
                replan=lambda state: service.call(self._handle.raw.replan_lane, number, state),
                goes_on=goes_on,
            )
            return self._without(batch.batch, batch.keys, made, bad) if bad else made
        except missing.Failed as failed:
            sample = failed.made
        finally:
            self._odd.pop(number, None)
            self._blame(batch)
        samples.raise_made(sample.error, self._dataset, sample.key)
        raise AssertionError("raise_made raises")

    def _make_needed(self, needed: Any) -> None:
        sample = self._make(
            needed.batch, needed.position, needed.key, needed.torch_state, seed=None
        )
        sample.resolved = True
        self._made[needed.batch, needed.position] = sample
        service.call(
            self._handle.raw.resolve_sample,
            needed.batch,
            needed.position,
            sample.state_after,
            sample.error is not None and not self._bad.goes_on,
        )

    def _make(
        self, batch: int, position: int, key: int, torch_state: bytes, seed: Any
    ) -> "samples.Made":
        odd = self._odd.get(batch)
        if odd == []:  # a batch of nothing draws nothing
            return samples.Made(key, None, None, torch_state)
        key = odd[position] if odd is not None else key
        use_seed = seed if self._captured.plan.rng == "sample" else None
        made = self._by_reference(batch, key, torch_state, use_seed)
        if self._measured is not None:
            error = "" if made.error is None else f"it raises {_cause(made.error)}"
            self._measured.append(blame.Measured(position, made.peak_bytes, error))
        return made

    def _by_reference(self, batch: int, key: Any, state: bytes, seed: int | None) -> "samples.Made":
        """dataset[key], in the reference; with num_workers=0 in this process, as the stock loader."""
        if self._lazy:
            return samples.make(self._dataset, key, "", state, seed)
        measure = self._measured is not None
        ask = Ask(key, Start(state, seed), self._where(batch), measure=measure)
        policy = self._bad.policy
        try:
            if policy.deadline > 0:
                made = self._reference.make_within(ask, policy.deadline)
            else:
                (made,) = self._reference.make([ask], math.inf)
        except ReferenceLost as lost:
            error = RuntimeError(f"DataLoader worker exited unexpectedly: {lost}")
            if not policy.guards:
                raise error from None
            return self._ended(key, state, error)
        if made is None:
            late = f"sample {key} was not made within {policy.deadline:g} s"
            return self._ended(key, state, SampleDeadline(late))
        here = samples.Made(key, made.value, made.error, made.state_after)
        here.peak_bytes = made.peak_bytes
        return here

    def _ended(self, key: Any, state: bytes, error: Exception) -> "samples.Made":
        """A sample that ended the reference: there is another one for the next. What it drew is not
        known."""
        self._reference.close()
        self._reference = Reference(self._dataset, self._num_workers)
        made = samples.Made(key, None, error, state)
        made.ended_process = True
        return made

    # Bad samples.

    def _without(
        self,
        batch: int,
        keys: list[int],
        made: dict[int, Any],
        bad: "list[tuple[int, samples.Made]]",
    ) -> dict[int, Any]:
        """The samples, with others in the place of the bad ones, or less these."""
        guard = self._bad.guard
        assert guard is not None
        indices = list(self._odd.get(batch) or keys)
        skips = guard.policy.way == "skip"
        keeps = not skips or len(bad) < len(indices)
        for number, (position, sample) in enumerate(bad):
            leaves_out = skips and (keeps or number > 0)  # a batch of nothing is no batch
            way = "skip" if leaves_out else "substitute"
            if not guard.tell(sample.key, _cause(sample.error), way):
                samples.raise_made(sample.error, self._dataset, sample.key)
            if leaves_out:
                self._left_out.add(position)
            else:
                all_bad = [one.key for _, one in bad]
                made[position] = self._substitute(batch, indices, sample, all_bad)
        return made

    def _substitute(
        self, batch: int, indices: list[Any], sample: "samples.Made", bad: list[Any]
    ) -> Any:
        place = Place(self._base_seed, max(self._epoch, 0))
        count = len(self._dataset) if self._bad.policy.covers_all else None
        for key, seed in substitutes(place, sample.key, indices, bad, count):
            made = self._by_reference(batch, key, b"", seed)
            if made.error is None:
                return made.value
        samples.raise_made(sample.error, self._dataset, sample.key)
        raise AssertionError("raise_made raises")

    def _blame(self, batch: Any) -> None:
        """Says which samples of a batch that ended workers are not to be given to them again."""
        measured, self._measured = self._measured, None
        if not measured or self._handle is None:
            return
        for position, cause in blame.blame(measured).items():
            service.call(
                self._handle.raw.report_bad_sample,
                batch.keys[position],
                name="",
                cause=cause,
                hold_back=True,
            )

    def _where(self, batch: int) -> str:
        if self._lazy:
            return ""
        return f"in DataLoader worker process {batch % self._num_workers}"


def _cause(error: Any) -> str:
    if isinstance(error, ExceptionWrapper):
        lines = error.exc_msg.strip().splitlines()
        return lines[-1] if lines else error.exc_type.__name__
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
