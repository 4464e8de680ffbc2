"""Differential admission: before a pipeline is offloaded, a few samples are made both ways.

The real service makes them from the plan; the dataset's own code makes them here from the same
random state. If a bit differs, growing prefixes of the chain find the first node that is to blame.
That node is Python then: the transforms run as the user's code on the workers, with native pictures
behind PIL's interface (stage/images.py) wherever the node has no part in them. If that code gives
other samples there too, the program has changed a library in its own process, and the loader stays
in the trainer. Leaves no trace in the program's random numbers.
"""

import pickle
import time
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from . import binding, samples, service
from .capture import Captured
from .capture.capture import python_capture
from .capture.plan import Field, Node, Plan
from .capture.transforms import leaves_of
from .errors import KeepsState, Unsupported, WorkersUnavailable
from .report import LoaderReport
from .session import SessionHandle

_SAMPLES = 3
_TRIES = 8  # of keys, where the dataset itself raises
_SEED = 0x48656164  # any; both ways start from it
_PATIENCE = 60.0  # seconds for the service to make a few samples

_REMEDY = "nothing in the program: a library here computes something else; please report it"
# What of a stage's pictures stays PIL's when an operator is to blame; the operator itself, for others.
_BY_PIL = {
    "decode": ("decode",),
    "resize": ("resize",),
    "random_resized_crop": ("crop", "resize"),
    "center_crop": ("crop",),
    "random_crop": ("crop",),
    "random_horizontal_flip": ("flip",),
    "random_vertical_flip": ("flip",),
    "to_tensor": ("to_tensor",),
}


@dataclass
class _Sample:
    key: int
    fields: list[torch.Tensor]
    state_after: bytes


@dataclass
class _Verdict:
    """What a comparison found; without a reason all is well."""

    reason: str = ""
    op: str = ""  # of the node to blame
    local: bool = False


# Of plans that were compared in this process, by signature.
_verdicts: dict[str, _Verdict] = {}


def admit(loader: Any, captured: Captured) -> Captured:
    """`captured`, or what to do instead of it."""
    if captured.path != "native":
        return captured
    if captured.signature not in _verdicts:
        _verdicts[captured.signature] = _compare(loader, captured)
    verdict = _verdicts[captured.signature]
    if not verdict.reason:
        return captured
    if verdict.local:
        return Captured("local", captured.name, reasons=[verdict.reason], remedy=_REMEDY)
    return _as_python(loader, captured, verdict)


def _as_python(loader: Any, captured: Captured, verdict: _Verdict) -> Captured:
    by_pil = _BY_PIL.get(verdict.op, (verdict.op,) if verdict.op else ())
    return python_capture(loader, verdict.reason, captured.plan.rng, by_pil, _REMEDY)


def _compare(loader: Any, captured: Captured) -> _Verdict:
    by_hand = _by_hand(loader.dataset, captured.rows.count)
    if not by_hand:
        return _Verdict()  # every sample tried raises by itself, and will at its place
    # One lane, and torch's generator also where the loader has a seed for each sample: the same
    # kernels and draws, from a state that is known here.
    plan = replace(captured.plan, lanes=1)
    if plan.rng == "sample":
        plan.rng = "torch"
    try:
        made = _by_service(plan, by_hand)
    except Unsupported as error:
        return _Verdict(str(error))
    refusals = [batch for batch in made if isinstance(batch, str)]
    if len(refusals) == len(made):
        return _Verdict(f"no worker could make samples of it: {refusals[0]}")
    if all(map(_agree, made, by_hand)):
        return _Verdict()
    verdict = _first_difference(loader.dataset, plan, [sample.key for sample in by_hand])
    stage = _as_python(loader, captured, verdict)
    if stage.path == "python":
        verdict.local = not _stage_agrees(stage.plan, by_hand)
        if verdict.local:
            verdict.reason += ", and so does its code on the workers"
    return verdict


def _stage_agrees(plan: Plan, by_hand: list[_Sample]) -> bool:
    try:
        made = _by_service(replace(plan, lanes=1, rng="torch"), by_hand)
    except (Unsupported, KeepsState):
        return True  # the loader itself will say it
    return all(
        not isinstance(batch, str) and _agree(batch, s)
        for batch, s in zip(made, by_hand, strict=True)
    )


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


def _by_service(plan: Plan, wanted: list[_Sample]) -> list[list[torch.Tensor] | str]:
    """The same samples from the workers, or why there is none."""
    made: list[list[torch.Tensor] | str] = []
    with closing(SessionHandle(plan, LoaderReport("", 0), len(wanted), True)) as handle:
        service.call(handle.raw.begin, base_seed=_SEED)
        for sample in wanted:  # one batch each: their sizes may differ
            service.call(handle.raw.submit, [sample.key])
        deadline = time.monotonic() + _PATIENCE
        while len(made) < len(wanted):
            event = service.call(handle.raw.next, 0.1)
            if isinstance(event, binding.SampleNeeded):
                state_after = wanted[event.batch].state_after
                service.call(handle.raw.resolve_sample, event.batch, event.position, state_after)
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
    if batch.python_error:
        return "its code raises on the workers"
    if batch.pickle:
        buffers = [bytearray(buffer) for buffer in batch.buffers]
        return [field[0] for field in pickle.loads(batch.pickle, buffers=buffers)]
    return [torch.from_dlpack(field)[0].clone() for field in batch.fields]


def _agree(mine: list[torch.Tensor] | str, theirs: _Sample) -> bool:
    if isinstance(mine, str):
        return True  # the trainer will make it
    return len(mine) == len(theirs.fields) and all(map(_same_bits, mine, theirs.fields))


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    raw_a, raw_b = (t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b))
    return torch.equal(raw_a, raw_b)


def _first_difference(dataset: Any, plan: Plan, keys: list[int]) -> _Verdict:
    """Blames the first node whose output differs."""
    if not plan.chain:
        return _Verdict("its samples differ")
    blamed = first_different_node(dataset, plan, keys, len(plan.chain) - 1) or plan.chain[-1]
    return _Verdict(f"{blamed.label} gives other bits natively", blamed.op)


def first_different_node(dataset: Any, plan: Plan, keys: list[int], most: int) -> Node | None:
    """The node, among the first `most`, behind which samples of these keys begin to differ from what
    the dataset's own code makes. `plan`: of one lane. None: they do not differ up to there."""
    for length in range(1, most + 1):
        prefix = replace(plan, chain=plan.chain[:length], fields=[Field("chain")])
        prefix.rng = "torch" if prefix.is_random else "none"
        by_hand = _prefix_by_hand(dataset, keys, length)
        try:
            made = _by_service(prefix, by_hand)
        except Unsupported:
            continue  # an operator that has no native form without those behind it
        if not all(map(_agree, made, by_hand)):
            return plan.chain[length - 1]
    return None


def _prefix_by_hand(dataset: Any, keys: list[int], length: int) -> list[_Sample]:
    """What comes out of the first nodes of the chain: the source, and transforms behind it."""
    made: list[_Sample] = []
    with samples.own_random_state():
        torch.default_generator.manual_seed(_SEED)
        for key in keys:
            leaf, index = _leaf(dataset, key)
            transform, leaf.transform = leaf.transform, None
            try:
                value = leaf[index][0]
            finally:
                leaf.transform = transform
            for step in leaves_of(transform)[: length - 1]:
                value = step(value)
            made.append(_Sample(key, [_as_tensor(value)], samples.state_bytes()))
    return made


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
