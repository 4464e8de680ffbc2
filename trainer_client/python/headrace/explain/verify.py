"""The first batches of each loader both ways: by the stock iterator, and as they are served.

Both start from the same random state and the same batches of keys: the sampler, which runs in the
trainer either way, is asked once. With a seed for each sample (rng "sample") other numbers than the
stock loader's are drawn by design; there the samples are made by the dataset's own code from the very
seeds that the workers get, and collated as the loader does it.
"""

from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import Any

from ..admission import admission, samples
from ..capture import NativePlan, StaysLocal
from ..loader import seam
from ..loader.inspection import Inspection
from .graph import document
from .loaders import live_loaders, rng_of, stock_of, with_indices
from .outcomes import BY_HAND, STOCK, Verification, by_hand, compare, outcomes, result_of
from .workers import verify_workers


def verify(loader: Any, wanted: Inspection) -> tuple[int, str]:
    if wanted.workers:
        found = [row for one in live_loaders(loader) for row in verify_workers(one, wanted.batches)]
    else:
        found = [_verify(one, wanted.batches) for one in live_loaders(loader)]
    code = 0 if all(one.ok for one in found) else 1
    if wanted.json:
        return code, document(loaders=[{**asdict(one), "ok": one.ok} for one in found])
    return code, "".join(f"{_line(one)}\n" for one in found)


def _verify(loader: Any, batches: int) -> Verification:
    captured = seam.decide(loader, seam.state_of(loader), rng_of(loader))
    result = result_of(loader, captured)
    if isinstance(captured, StaysLocal):
        return result
    with samples.own_random_state():
        indices = list(islice(iter(loader._index_sampler), batches))
    with samples.own_random_state():
        twin = with_indices(loader, indices)
        served = seam.make_iterator(twin, stock_of(loader), rng_of(loader))
        base_seed = served._base_seed
        mine = outcomes(served, len(indices))
    if result.rng == "sample":
        theirs = by_hand(loader, captured, indices, base_seed)
    else:
        with samples.own_random_state():
            theirs = outcomes(stock_of(loader)(with_indices(loader, indices)), len(indices))
    result.compared_with = BY_HAND if result.rng == "sample" else STOCK
    compare(result, theirs, mine)
    if not result.ok and isinstance(captured, NativePlan):
        result.node = _first_node(loader, captured, indices[result.batch or 0])
    return result


def _first_node(loader: Any, captured: NativePlan, index: list[Any]) -> str:
    """The first node whose output differs for these keys. The draws of the search are its own, so a
    difference that only other draws show has no name here."""
    keys = [key + captured.rows.count if key < 0 else key for key in index]
    with suppress(Exception):  # a sample that raises has no prefix
        node = admission.first_different_node(loader.dataset, captured.plan, keys)
        return node.label if node is not None else ""
    return ""


def _line(result: Verification) -> str:
    head = f"DataLoader({result.name}), num_workers={result.num_workers}: "
    if result.worker is not None:
        head = f"worker {result.worker} on {result.host}: {head}"
    if not result.compared_with:
        stays = (
            "stays in the trainer, nothing to compare" if result.path == "local" else "not compared"
        )
        return f"{head}{stays}: {result.reason}"
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
    if result.compared_with == BY_HAND:
        text += (
            "; with a seed for each sample other numbers are drawn than by the stock loader, so they "
            "are compared with what the dataset's code makes from the same seeds"
        )
    if result.other_files:
        text += f"; {result.other_files} samples were made in the trainer, for its files are others"
    if result.reason:
        text += f"; not native: {result.reason}"
    return text
