"""What next() gave, both ways, and whether it is equal."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from torch._utils import ExceptionWrapper

from ..admission import samples
from ..admission.difference import Difference, difference
from ..capture import Captured, NativePlan, Served, StaysLocal
from ..native import binding
from ..records import dataclass

STOCK, BY_HAND = "stock", "dataset[key] under the same seeds"


@dataclass
class Verification:
    """What became of one loader, or of one worker's batches of it."""

    name: str
    num_workers: int
    path: str  # "native", "python" or "local"
    rng: str
    batches: int = 0  # made both ways
    equal: int = 0  # of them
    compared_with: str = ""  # "stock" or "dataset[key] under the same seeds"; empty: with nothing
    reason: str = ""  # why it is not native
    # About the first batch that differs.
    batch: int | None = None
    field: str = ""
    sample: int | None = None
    what: str = ""
    node: str = ""
    # Only with --workers.
    worker: int | None = None
    host: str = ""
    other_files: int = 0  # samples that it was not let make: its files are others

    @property
    def ok(self) -> bool:
        return self.equal == self.batches and not self.other_files


@dataclass
class Outcome:
    """What next() gave: a batch, or an error."""

    value: Any = None
    error: Exception | None = None


def result_of(loader: Any, captured: Captured) -> Verification:
    """A result with nothing compared so far."""
    rng = "" if isinstance(captured, StaysLocal) else captured.plan.rng
    why = "" if isinstance(captured, NativePlan) else captured.reason
    return Verification(captured.name, loader.num_workers, captured.path, rng, reason=why)


def outcomes(iterator: Any, most: int) -> list[Outcome]:
    made: list[Outcome] = []
    while len(made) < most:
        try:
            made.append(Outcome(next(iterator)))
        except StopIteration:
            break
        except Exception as error:
            made.append(Outcome(error=error))
    return made


def by_hand(loader: Any, captured: Served, indices: Any, base_seed: int) -> list[Outcome]:
    """What the seeds of rng "sample" say that the batches are."""
    before: Counter[int] = Counter()
    made: list[Outcome] = []
    for number, index in enumerate(indices):
        rows, error = [], None
        lane = number % max(1, loader.num_workers)
        where = f"in DataLoader worker process {lane}" if loader.num_workers > 0 else ""
        for key, row in zip(index, _rows(captured, index), strict=True):
            seed = binding.sample_seed(base_seed & 0xFFFFFFFFFFFFFFFF, row, before[row])
            before[row] += 1
            sample = samples.make(loader.dataset, key, where, b"", seed)
            error = error or sample.error
            rows.append(sample.value)
        made.append(_collated(partial(loader.collate_fn, rows), error))
    return made


def _rows(captured: Served, index: list[Any]) -> list[int]:
    """The rows by which the service seeds the samples of these keys."""
    if isinstance(captured, NativePlan):
        return [key + captured.rows.count if key < 0 else key for key in index]
    plain = all(type(key) is int for key in index)
    return index if plain else [0] * len(index)  # as Served._submit_to asks


def _collated(collate: Callable[[], Any], error: Any) -> Outcome:
    """`error`: as samples.Made has it."""
    try:
        if isinstance(error, ExceptionWrapper):
            error.reraise()
        return Outcome(error=error) if error is not None else Outcome(collate())
    except Exception as raised:
        return Outcome(error=raised)


def compare(result: Verification, theirs: list[Outcome], mine: list[Outcome]) -> None:
    result.batches = max(len(theirs), len(mine))
    for number in range(result.batches):
        if number >= len(theirs) or number >= len(mine):
            found: Difference | None = Difference("", f"{len(theirs)} and {len(mine)} batches")
        else:
            found = _difference(theirs[number], mine[number])
        if found is None:
            result.equal += 1
        elif result.batch is None:
            result.batch, result.field = number, found.field
            result.sample, result.what = found.sample, found.what


def _difference(theirs: Outcome, mine: Outcome) -> Difference | None:
    if theirs.error is None and mine.error is None:
        return difference(theirs.value, mine.value)
    texts = [_said(outcome) for outcome in (theirs, mine)]
    return None if texts[0] == texts[1] else Difference("", f"{texts[0]} and {texts[1]}")


def _said(outcome: Outcome) -> str:
    """An error without its traceback, which names files and lines."""
    if outcome.error is None:
        return "a batch"
    lines = [line for line in str(outcome.error).splitlines() if not line.startswith(" ")]
    return f"{type(outcome.error).__name__}: {' '.join(lines)}"
