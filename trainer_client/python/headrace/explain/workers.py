"""`headrace verify --workers`: the first batches of a loader by each worker of the pool alone.

Compared with the stock iterator's, all from the same random state and the same batches of keys. Native
batches are asked for as the served loader asks. The program's code is asked of the worker as of one that
is elsewhere: from the bundle, in a process of the worker's own.
"""

import math
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from ..admission import samples
from ..capture import Captured, NativePlan, StagePlan, StaysLocal
from ..errors import HeadraceError
from ..loader import seam
from ..native import binding
from ..service import answers, service
from ..service.report import LoaderReport
from ..service.session import SessionHandle, by_worker
from ..stage.pickling import pickle_value
from .loaders import rng_of, stock_of, with_indices
from .outcomes import BY_HAND, STOCK, Outcome, Verification, by_hand, compare, outcomes, result_of


def verify_workers(loader: Any, batches: int) -> Iterator[Verification]:
    """One row for each worker that is ready; one alone where nothing leaves the trainer."""
    captured = seam.decide(loader, seam.state_of(loader), rng_of(loader))
    if isinstance(captured, StaysLocal):
        yield _row(loader, captured, reason=captured.reason)
        return
    if isinstance(captured, StagePlan) and captured.stage.bundle is None:
        yield _row(loader, captured, reason=captured.stays or captured.reason)
        return
    with samples.own_random_state():
        indices = list(islice(iter(loader._index_sampler), batches))
    with samples.own_random_state():
        stock = stock_of(loader)(with_indices(loader, indices))
        base_seed = stock._base_seed
        theirs = outcomes(stock, len(indices))
    for worker, host, state in service.call(service.client().workers):
        if state != "ready":
            continue
        row = _row(loader, captured, worker, host)
        try:
            with by_worker(worker):
                if isinstance(captured, NativePlan):
                    mine, expected = _native(loader, captured, indices, theirs, row)
                else:
                    mine, expected = _code(loader, captured, indices, base_seed, theirs), theirs
        except HeadraceError as error:
            row.reason, row.batches = f"it can't make them: {error}", len(theirs)
            yield row
            continue
        row.compared_with = BY_HAND if captured.plan.rng == "sample" else STOCK
        compare(row, expected, mine)
        yield row


def _row(
    loader: Any, captured: Captured, worker: int | None = None, host: str = "", reason: str = ""
) -> Verification:
    return replace(result_of(loader, captured), reason=reason, worker=worker, host=host)


def _native(
    loader: Any, captured: NativePlan, indices: list[Any], theirs: list[Outcome], row: Verification
) -> tuple[list[Outcome], list[Outcome]]:
    with samples.own_random_state():
        twin = with_indices(loader, indices)
        served = seam.make_iterator(twin, stock_of(loader), rng_of(loader))
        mine = outcomes(served, len(indices))
    row.other_files = seam.state_of(twin).report.other_files
    if captured.plan.rng == "sample":
        theirs = by_hand(loader, captured, indices, served._base_seed)
    return mine, theirs


def _code(
    loader: Any, captured: StagePlan, indices: list[Any], base_seed: int, theirs: list[Outcome]
) -> list[Outcome]:
    window = loader.prefetch_factor * loader.num_workers
    keys = iter([index if loader._auto_collation else [index] for index in indices])
    made: list[Outcome] = []
    with closing(SessionHandle(captured.plan, LoaderReport("", 0), window, True)) as handle:
        raw = handle.raw
        service.call(raw.begin, base_seed=base_seed & 0xFFFFFFFFFFFFFFFF)
        for outcome in theirs:  # what this host makes may be named
            with suppress(Exception):  # it does not pickle, or was an error
                service.call(raw.learn_names, pickle_value(outcome.value))
        service.call(raw.await_served, math.inf)
        for batch in islice(keys, window):
            service.call(raw.submit, batch)
        while len(made) < len(indices):
            event = service.call(raw.next, 0.1)
            if isinstance(event, binding.Batch):
                made.append(_read(event))
                for batch in islice(keys, 1):
                    service.call(raw.submit, batch)
    return made


def _read(batch: Any) -> Outcome:
    if batch.missing:
        return Outcome(error=HeadraceError(batch.missing[0].message))
    try:
        if batch.python_error:
            answers.error_of(batch).reraise()
        return Outcome(answers.value_of(batch, [bytearray(part) for part in batch.buffers]))
    except Exception as error:
        return Outcome(error=error)
