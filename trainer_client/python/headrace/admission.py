"""Differential admission: before a pipeline is offloaded, a few samples are made both ways.

The real service makes them from the plan; the dataset's own code makes them here from the same
random state. If a bit differs, growing prefixes of the chain find the first node that is to blame,
and the pipeline runs as Python instead. Leaves no trace in the program's random numbers.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from . import binding, samples
from .capture import Captured
from .capture.capture import python_capture
from .capture.plan import TORCH_DTYPES, Field, Plan
from .capture.transforms import leaves_of
from .errors import WorkersUnavailable
from .report import LoaderReport
from .session import SessionHandle

_SAMPLES = 3
_TRIES = 8  # of keys, where the dataset itself raises
_SEED = 0x48656164  # any; both ways start from it
_PATIENCE = 60.0  # seconds for the service to make a few samples

# Plans that were compared in this process: signature -> what has no native form, or "".
_verdicts: dict[str, str] = {}


def admit(loader: Any, captured: Captured) -> Captured:
    """`captured`, or what to do instead of it."""
    if captured.path != "native":
        return captured
    if captured.signature not in _verdicts:
        _verdicts[captured.signature] = _compare(loader, captured)
    blame = _verdicts[captured.signature]
    return python_capture(loader, blame) if blame else captured


def _compare(loader: Any, captured: Captured) -> str:
    by_hand = _by_hand(loader.dataset, captured.rows.count)
    if not by_hand:
        return ""  # every sample tried raises by itself, and will at its place
    # One lane, and torch's generator also where the loader has a seed for each sample: the same
    # kernels and draws, from a state that is known here.
    plan = replace(captured.plan, lanes=1)
    if plan.rng == "sample":
        plan.rng = "torch"
    try:
        made = _by_service(plan, [(sample.key, sample.state_after) for sample in by_hand])
    except binding.UnsupportedError as error:
        return str(error)
    refusals = [batch for batch in made if isinstance(batch, str)]
    if len(refusals) == len(made):
        return f"no worker could make samples of it: {refusals[0]}"
    for mine, theirs in zip(made, by_hand, strict=True):
        if not isinstance(mine, str) and not _same(mine, theirs.fields):
            return _first_difference(loader.dataset, captured, theirs.key)
    return ""


@dataclass
class _Sample:
    key: int
    fields: list[torch.Tensor]
    state_after: bytes


def _by_hand(dataset: Any, count: int) -> list[_Sample]:
    """Samples as the stock loader's first worker makes them: in order, from one generator."""
    made: list[_Sample] = []
    with samples.own_random_state():
        torch.default_generator.manual_seed(_SEED)
        for key in dict.fromkeys(i * count // _TRIES for i in range(_TRIES)):
            before = torch.get_rng_state()
            try:
                fields = [torch.as_tensor(item) for item in dataset[key]]
            except Exception:
                torch.set_rng_state(before)
                continue
            made.append(_Sample(key, fields, samples.state_bytes()))
            if len(made) == _SAMPLES:
                break
    return made


def _by_service(plan: Plan, wanted: list[tuple[int, bytes]]) -> list[list[torch.Tensor] | str]:
    """The same samples from the workers, or why there is none. `wanted`: keys, and torch's state
    behind each sample."""
    made: list[list[torch.Tensor] | str] = []
    with closing(SessionHandle(plan, LoaderReport("", 0), len(wanted), True)) as handle:
        handle.raw.begin(base_seed=_SEED)
        for key, _ in wanted:  # one batch each: their sizes may differ
            handle.raw.submit([key])
        deadline = time.monotonic() + _PATIENCE
        while len(made) < len(wanted):
            event = handle.raw.next(0.1)
            if isinstance(event, binding.SampleNeeded):
                state_after = wanted[event.batch][1]
                handle.raw.resolve_sample(event.batch, event.position, state_after)
            elif event is not None:
                made.append(_read(event))
            elif time.monotonic() > deadline:
                raise WorkersUnavailable(
                    f"no worker answered for {_PATIENCE:.0f} s: `headrace workers` shows which "
                    "there are"
                )
    return made


def _read(batch: Any) -> list[torch.Tensor] | str:
    if batch.missing:
        return batch.missing[0].message
    return [
        torch.frombuffer(field, dtype=TORCH_DTYPES[field.dtype]).view(field.shape)[0].clone()
        for field in batch.fields
    ]


def _same(made: list[torch.Tensor], expected: list[torch.Tensor]) -> bool:
    return len(made) == len(expected) and all(map(_same_bits, made, expected))


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    raw_a, raw_b = (t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(raw_a, raw_b)


def _first_difference(dataset: Any, captured: Captured, key: int) -> str:
    """Names the first node whose output differs for this sample."""
    plan = captured.plan
    if not plan.chain:
        return f"its samples differ (key {key})"
    for length, expected in _prefixes(dataset, key):
        prefix = replace(plan, chain=plan.chain[:length], fields=[Field("chain")], lanes=1)
        prefix.rng = "torch" if prefix.is_random else "none"
        try:
            (made,) = _by_service(prefix, [(key, b"")])
        except binding.UnsupportedError:
            continue  # an operator that has no native form without those behind it
        if not isinstance(made, str) and not _same_bits(made[0], expected):
            return f"{plan.chain[length - 1].label} gives other bits natively (sample {key})"
    return f"{plan.chain[-1].label} gives other bits natively (sample {key})"


def _prefixes(dataset: Any, key: int) -> Iterator[tuple[int, torch.Tensor]]:
    """What comes out of the first 1, 2, ... nodes of the chain."""
    inner, index = _leaf(dataset, key)
    whole = inner.transform
    with samples.own_random_state():
        torch.default_generator.manual_seed(_SEED)
        inner.transform = None
        try:
            value = inner[index][0]
        finally:
            inner.transform = whole
        yield 1, _as_tensor(value)
        for length, transform in enumerate(leaves_of(whole), start=2):
            value = transform(value)
            yield length, _as_tensor(value)


def _leaf(dataset: Any, key: int) -> tuple[Any, int]:
    """The dataset inside of Subset and ConcatDataset that makes this key."""
    if isinstance(dataset, torch.utils.data.Subset):
        return _leaf(dataset.dataset, dataset.indices[key])
    if isinstance(dataset, torch.utils.data.ConcatDataset):
        part = int(np.searchsorted(dataset.cumulative_sizes, key, side="right"))
        return _leaf(dataset.datasets[part], key - ([0, *dataset.cumulative_sizes][part]))
    return dataset, key


def _as_tensor(value: Any) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))
