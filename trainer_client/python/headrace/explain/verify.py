"""The first batches of each loader both ways: by the stock iterator, and as they are served.

Both start from the same random state and the same batches of keys: the sampler, which runs in the
trainer either way, is asked once. With a seed for each sample (rng "sample") other numbers than the
stock loader's are drawn by design; there the samples are made by the dataset's own code from the very
seeds that the workers get, and collated as the loader does it.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from torch._utils import ExceptionWrapper

from .. import admission, binding, samples, seam
from ..capture import Captured
from ..inspection import Inspection
from .compare import Difference, difference
from .graph import document
from .loaders import live_loaders, rng_of, stock_of, with_indices

_STOCK, _BY_HAND = "stock", "dataset[key] under the same seeds"


@dataclass
class Verification:
    """What became of one loader."""

    name: str
    num_workers: int
    path: str  # "native", "python" or "local"
    rng: str
    batches: int = 0  # made both ways
    equal: int = 0  # of them
    compared_with: str = ""  # "stock" or "dataset[key] under the same seeds"; empty: with nothing
    reason: str = ""  # why it is not native
    # Of the first batch that differs.
    batch: int | None = None
    field: str = ""
    sample: int | None = None
    what: str = ""
    node: str = ""

    @property
    def ok(self) -> bool:
        return self.equal == self.batches


@dataclass
class _Outcome:
    """What next() gave: a batch, or an error."""

    value: Any = None
    error: Exception | None = None


def verify(loader: Any, wanted: Inspection) -> tuple[int, str]:
    found = [_verify(one, wanted.batches) for one in live_loaders(loader)]
    code = 0 if all(one.ok for one in found) else 1
    if wanted.json:
        return code, document(loaders=[{**asdict(one), "ok": one.ok} for one in found])
    return code, "".join(f"{_line(one)}\n" for one in found)


def _verify(loader: Any, batches: int) -> Verification:
    captured = seam.decide(loader, seam.state_of(loader), rng_of(loader))
    rng = captured.plan.rng if captured.plan is not None else ""
    result = Verification(captured.name, loader.num_workers, captured.path, rng)
    result.reason = captured.reasons[0] if captured.reasons else ""
    if captured.path == "local":
        return result
    with samples.own_random_state():
        indices = list(islice(iter(loader._index_sampler), batches))
    with samples.own_random_state():
        twin = with_indices(loader, indices)
        served = seam.make_iterator(twin, stock_of(loader), rng_of(loader))
        state = seam.state_of(twin)
        if state.report.path == "local":  # its keys cannot be sent
            result.path, result.rng, result.reason = "local", "", state.verdict.reasons[0]
            return result
        base_seed = served._base_seed
        mine = _outcomes(served, len(indices))
    if rng == "sample":
        theirs = _by_hand(loader, captured, indices, base_seed)
    else:
        with samples.own_random_state():
            theirs = _outcomes(stock_of(loader)(with_indices(loader, indices)), len(indices))
    result.compared_with = _BY_HAND if rng == "sample" else _STOCK
    _compare(result, theirs, mine)
    if not result.ok and captured.path == "native":
        result.node = _first_node(loader, captured, indices[result.batch or 0])
    return result


def _outcomes(iterator: Any, most: int) -> list[_Outcome]:
    made: list[_Outcome] = []
    while len(made) < most:
        try:
            made.append(_Outcome(next(iterator)))
        except StopIteration:
            break
        except Exception as error:
            made.append(_Outcome(error=error))
    return made


def _by_hand(loader: Any, captured: Captured, indices: Any, base_seed: int) -> list[_Outcome]:
    """What the seeds of rng "sample" say that the batches are."""
    count, before = captured.rows.count, Counter()
    made: list[_Outcome] = []
    for number, index in enumerate(indices):
        rows, error = [], None
        lane = number % max(1, loader.num_workers)
        where = f"in DataLoader worker process {lane}" if loader.num_workers > 0 else ""
        for key in index:
            row = key + count if key < 0 else key
            seed = binding.sample_seed(base_seed & 0xFFFFFFFFFFFFFFFF, row, before[row])
            before[row] += 1
            sample = samples.make(loader.dataset, key, where, b"", seed)
            error = error or sample.error
            rows.append(sample.value)
        made.append(_collated(lambda rows=rows: loader.collate_fn(rows), error))
    return made


def _collated(collate: Callable[[], Any], error: Any) -> _Outcome:
    """`error`: as samples.Made has it."""
    try:
        if isinstance(error, ExceptionWrapper):
            error.reraise()
        return _Outcome(error=error) if error is not None else _Outcome(collate())
    except Exception as raised:
        return _Outcome(error=raised)


def _compare(result: Verification, theirs: list[_Outcome], mine: list[_Outcome]) -> None:
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


def _difference(theirs: _Outcome, mine: _Outcome) -> Difference | None:
    if theirs.error is None and mine.error is None:
        return difference(theirs.value, mine.value)
    texts = [_said(outcome) for outcome in (theirs, mine)]
    return None if texts[0] == texts[1] else Difference("", f"{texts[0]} and {texts[1]}")


def _said(outcome: _Outcome) -> str:
    """An error without its traceback, which names files and lines."""
    if outcome.error is None:
        return "a batch"
    lines = [line for line in str(outcome.error).splitlines() if not line.startswith(" ")]
    return f"{type(outcome.error).__name__}: {' '.join(lines)}"


def _first_node(loader: Any, captured: Captured, index: list[Any]) -> str:
    """The first node whose output differs for these keys. The draws of the search are its own, so a
    difference that only other draws show has no name here."""
    plan = replace(captured.plan, lanes=1)
    if plan.rng == "sample":
        plan.rng = "torch"
    keys = [key + captured.rows.count if key < 0 else key for key in index]
    with suppress(Exception):  # a sample that raises has no prefix
        node = admission.first_different_node(loader.dataset, plan, keys, len(plan.chain))
        return node.label if node is not None else ""
    return ""


def _line(result: Verification) -> str:
    head = f"DataLoader({result.name}), num_workers={result.num_workers}: "
    if result.path == "local":
        return f"{head}stays in the trainer, nothing to compare: {result.reason}"
    how = f"({result.path}, rng {result.rng})"
    if result.ok:
        text = f"{head}{result.equal} of {result.batches} batches equal {how}"
    else:
        where = f"batch{result.field}"
        where += "" if result.sample is None else f", sample {result.sample}"
        node = f"; the first node that differs is {result.node}" if result.node else ""
        text = (
            f"{head}{result.equal} of {result.batches} batches equal {how}; "
            f"batch {result.batch} differs at {where}: {result.what}{node}"
        )
    if result.compared_with == _BY_HAND:
        text += (
            "; with a seed for each sample other numbers are drawn than by the stock loader, so they "
            "are compared with what the dataset's code makes from the same seeds"
        )
    if result.reason:
        text += f"; not native: {result.reason}"
    return text
