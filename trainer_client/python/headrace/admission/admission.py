"""Differential admission: before a pipeline is offloaded, a few samples are made both ways.

The real service makes them from the plan; the dataset's own code makes them in a reference, a fork of
this process (reference.py), each key from a random state of its own. If a bit differs, if one of the two
raises where the other does not, or if other numbers of draws are taken, growing prefixes of the chain
find the first node that causes it. That node is Python then: the transforms run as the user's code
on the workers, with native pictures that implement PIL's interface (stage/images.py) wherever the
node has no part in them. Draws nothing and changes nothing in the program.

Which samples: spread over the dataset, and of image folders one of each kind of file, and the largest and
the smallest among some.
"""

import functools
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from ..capture import Captured, NativePlan, StaysLocal
from ..capture.capture import python_capture
from ..capture.datasets import Rows
from ..errors import Unsupported, WorkersUnavailable
from ..native import binding
from ..native.batch_form import BatchForm, tensors_of
from ..native.plan import Field, Node, Plan
from ..native.structure import Structure, fields_in
from ..native.targets import Targets, Unknown, same_value
from ..records import dataclass
from ..service import service
from ..service.report import LoaderReport
from ..service.session import SessionHandle
from . import opencv_trials
from .asks import Ask, Made, Start
from .batches import different_batch
from .bits import copy_of, same_bits
from .lane_state import numpy_seed
from .reference import Reference, ReferenceLost
from .samples import is_other_file

_SPREAD = 4  # keys over the whole dataset
_MOST_KINDS = 4  # of files, by the ends of their names
_LOOKED_AT = 32  # files whose names and sizes are looked at for more keys
_SEED = 0x48656164  # any; both ways start from it, and from the next one for the next key
_PATIENCE = 60.0  # seconds for the service to make a few samples

_REMEDY = "nothing in the program: a library here computes something else; please report it"
# The operations on a stage's pictures that stay PIL's when an operator differs; for others, the
# operator itself.
_BY_PIL = {
    "decode": ("decode",),
    "resize": ("resize",),
    "random_resized_crop": ("crop", "resize"),
    "center_crop": ("crop",),
    "five_crop": ("crop",),
    "random_crop": ("crop",),
    "random_horizontal_flip": ("flip",),
    "random_vertical_flip": ("flip",),
    "to_tensor": ("to_tensor",),
}


@dataclass
class _Sample:
    key: int
    fields: list[torch.Tensor] | None  # None: its own code raises
    state_after: bytes


_Native = list[torch.Tensor] | str  # a sample that workers made, or why they did not


class _OtherFile(str):
    """Why a sample was not made: its file is another one there."""


@dataclass
class _Verdict:
    """What a comparison found; without a reason all is well."""

    reason: str = ""
    ops: tuple[str, ...] = ()  # of the nodes to blame
    local: bool = False  # nothing is known of its samples
    lasts: bool = True  # False: other workers may serve the next epoch


# The outcomes for plans that were compared in this process, by signature.
_verdicts: dict[str, _Verdict] = {}


def admit(loader: Any, captured: Captured, reference: Reference | None = None) -> Captured:
    """`captured`, or what to do instead of it. `reference`: of this loader's dataset as it is now; none:
    one is made, and ended again."""
    if not isinstance(captured, NativePlan):
        return captured
    verdict = _verdicts.get(captured.signature)
    if verdict is None:
        with closing(Reference(loader.dataset)) as own:
            verdict = _compare(loader, captured, reference or own)
        if verdict.lasts:
            _verdicts[captured.signature] = verdict
    if not verdict.reason:
        return captured
    if verdict.local:
        return StaysLocal(captured.name, verdict.reason, _REMEDY)
    by_pil = [part for op in verdict.ops for part in _BY_PIL.get(op, (op,))]
    names = tuple(dict.fromkeys(by_pil))
    return python_capture(loader, verdict.reason, captured.plan.rng, names, _REMEDY)


def withdraw(captured: NativePlan, reason: str) -> None:
    """Plans equal to this one make other samples: they run as Python from their next iter() on."""
    _verdicts[captured.signature] = _Verdict(reason)


def is_withdrawn(captured: NativePlan) -> bool:
    verdict = _verdicts.get(captured.signature)
    return verdict is not None and bool(verdict.reason)


def _compare(loader: Any, captured: NativePlan, reference: Reference) -> _Verdict:
    keys = keys_to_try(captured.rows)
    plan = _comparable(captured.plan, len(keys))
    try:
        if different := _different_call(captured):
            return _Verdict(different)
        by_hand_later = _begin_by_hand(
            reference, keys, plan.other_generators, captured.structure, beside=captured.beside
        )
        made, draws = _by_service(plan, keys, by_hand_later, captured.form, captured.targets)
        by_hand = by_hand_later()
        refusals = [sample for sample in made if isinstance(sample, str)]
        if all(isinstance(sample, _OtherFile) for sample in made):
            return _Verdict(refusals[0], local=True, lasts=False)
        if len(refusals) == len(made) and any(sample.fields is not None for sample in by_hand):
            return _Verdict(f"no worker could make samples of it: {refusals[0]}")
        theirs = [sample.fields for sample in by_hand]
        ours = [None if isinstance(sample, str) else sample for sample in made]
        if different := different_batch(loader.collate_fn, captured, ours, theirs):
            return _Verdict(different)
        if not all(map(partial(_agree_beside, captured.beside), made, by_hand)):
            return _Verdict("what is made beside its pictures differs from what its code makes")
        agree = partial(_agree, beside=captured.beside)
        if all(map(agree, made, by_hand)) and _drawn_alike(reference, draws, by_hand, made):
            return _Verdict()
        return _first_difference(reference, plan, by_hand, made)
    except ReferenceLost as lost:
        return _Verdict(f"its samples can't be compared: {lost}", local=True)
    except Unsupported as error:
        return _Verdict(str(error))


def _different_call(captured: NativePlan) -> str:
    """Which of OpenCV's functions makes other pictures natively; empty: none does."""
    calls = captured.rows.calls
    if not calls:
        return ""
    with closing(Reference(opencv_trials.Drawn(calls))) as reference:
        for number, call in enumerate(calls):
            plan, count = opencv_trials.plan_of(call)
            keys = [number * count + i for i in range(count)]
            by_hand = _begin_by_hand(reference, keys)
            made, _ = _by_service(plan, list(range(count)), by_hand)
            # Pictures that workers refuse are made by the program's own code.
            refusals = [one for one in made if isinstance(one, str)]
            if len(refusals) == len(made):
                return f"{call.node.label} can't be tried: {refusals[0]}"
            if not all(map(_agree, made, by_hand())):
                return f"{call.node.label} gives other bits natively, by drawn pictures"
    return ""


def _comparable(plan: Plan, count: int) -> Plan:
    """A lane for each sample, and torch's generator also where the loader has a seed for each: the
    same kernels and draws, from states that are known here."""
    return replace(plan, lanes=count, rng="torch" if plan.rng == "sample" else plan.rng)


def keys_to_try(rows: Rows) -> list[int]:
    """Which samples are made both ways."""
    count = rows.count
    keys = [i * count // _SPREAD for i in range(_SPREAD)]
    looked_at = dict.fromkeys(i * count // _LOOKED_AT for i in range(_LOOKED_AT))
    files = [(key, path) for key in looked_at if (path := rows.path_of(key))]
    kinds = {os.path.splitext(path)[1].lower(): key for key, path in reversed(files)}
    keys += list(kinds.values())[-_MOST_KINDS:]
    sizes = [(size, key) for key, path in files if (size := _size_of(path)) is not None]
    if sizes:
        keys += [min(sizes)[1], max(sizes)[1]]
    return list(dict.fromkeys(keys))


def _size_of(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def _begin_by_hand(
    reference: Reference,
    keys: list[int],
    others: int = 0,
    structure: Structure | None = None,
    length: int | None = None,
    beside: Sequence[int] = (),
) -> Callable[[], list[_Sample]]:
    """Begins to make samples as the stock loader's workers do, or the output of the first `length`
    nodes, while the service makes them too. What it returns waits for them. `others`: the generators
    beside torch's that they draw from, as lane_state's."""
    starts = [_start(i, [0] * (1 + others)) for i in range(len(keys))]
    asks = [Ask(key, start, length=length) for key, start in zip(keys, starts, strict=True)]
    number = reference.ask(asks)

    @functools.cache
    def wait() -> list[_Sample]:
        return [
            _Sample(key, fields_of(one, structure, beside), one.state_after)
            for key, one in zip(keys, reference.wait(number, _PATIENCE), strict=True)
        ]

    return wait


def _start(lane: int, places: list[int]) -> Start:
    """The generators of a lane that no hook seeds. `places`: of torch's, and of those after it that
    are drawn from."""
    seed, (position, *others) = _SEED + lane, places
    python = (seed, others[0]) if others else None
    numpy = (numpy_seed(None, _SEED, lane), others[1]) if others[1:] else None
    return Start(lane_seed=seed, position=position, python=python, numpy=numpy)


def fields_of(
    made: Made, structure: Structure | None, beside: Sequence[int] = ()
) -> list[Any] | None:
    """None: it raised. `structure`: of a sample; None: it is a single tensor. A sample that is
    nested in another way has no field. `beside`: fields that are no tensors of workers."""
    if made.error is not None:
        return None
    fields = [made.value] if structure is None else fields_in(structure, made.value)
    return [
        item if number in beside else torch.as_tensor(item)
        for number, item in enumerate(fields or [])
    ]


def _by_service(
    plan: Plan,
    keys: list[int],
    by_hand: Callable[[], list[_Sample]],
    form: BatchForm | None = None,
    targets: Targets | None = None,
) -> tuple[list[_Native], list[int]]:
    """Returns the samples from the workers, and how much each drew if that is known. `by_hand`: the
    same samples by their own code, for those that no worker can make."""
    made: dict[int, _Native] = {}
    session = partial(SessionHandle, plan, LoaderReport("", 0), len(keys), True)
    with closing(session(tell_draws=targets is not None)) as handle:
        service.call(handle.raw.begin, base_seed=_SEED)
        for key in keys:  # one batch each: their sizes may differ
            service.call(handle.raw.submit, [key])
        deadline = time.monotonic() + _PATIENCE
        while len(made) < len(keys):
            event = service.call(handle.raw.next, 0.1)
            if isinstance(event, binding.SampleNeeded):
                sample = by_hand()[event.batch]
                service.call(
                    handle.raw.resolve_sample,
                    event.batch,
                    event.position,
                    sample.state_after,
                    sample.fields is None,
                )
            elif event is not None:
                made[event.batch] = _read(event, form, targets)
            elif time.monotonic() > deadline:
                raise WorkersUnavailable(
                    f"no worker answered for {_PATIENCE:.0f} s: `headrace workers` shows which "
                    "there are"
                )
        try:
            draws = handle.raw.lane_draws()
        except binding.HeadraceError:
            draws = []  # a lane whose samples the workers refused has moved in its own way
    return [made[i] for i in range(len(keys))], draws


def _drawn_alike(
    reference: Reference, draws: list[int], by_hand: list[_Sample], made: list[_Native]
) -> bool:
    """Whether the generators stand where the samples' own code leaves them."""
    count = len(made)  # then come the places of the generators beside torch's, if any
    starts = [_start(i, draws[i::count]) for i in range(count if draws else 0)]
    states = reference.make([Ask(None, start, length=0) for start in starts], _PATIENCE)
    return all(
        isinstance(ours, str) or theirs.fields is None or state.state_after == theirs.state_after
        for state, theirs, ours in zip(states, by_hand, made, strict=False)
    )


def _read(batch: Any, form: BatchForm | None, targets: Targets | None) -> _Native:
    if batch.missing:
        said = batch.missing[0]
        return _OtherFile(said.message) if is_other_file(said) else said.message
    fields = tensors_of(batch.fields, form)
    made = [f[0].clone() if type(f) is list else copy_of(f[0]) for f in fields]
    try:
        return made + [column[0] for column in targets.columns(batch)] if targets else made
    except Unknown as error:
        return str(error) or "what is made beside the picture is not known"


def _agree_beside(beside: Sequence[int], mine: _Native, theirs: _Sample) -> bool:
    if isinstance(mine, str) or theirs.fields is None or len(mine) != len(theirs.fields):
        return True  # which _agree looks at
    return all(same_value(mine[i], theirs.fields[i]) for i in beside)


def _agree(mine: _Native, theirs: _Sample, beside: Sequence[int] = ()) -> bool:
    """`beside`: fields that _agree_beside looks at."""
    if isinstance(mine, str):
        return True  # its own code will make it, or raise
    if theirs.fields is None or len(mine) != len(theirs.fields):
        return False
    pairs = enumerate(zip(mine, theirs.fields, strict=True))
    return all(same_bits(one, other) for i, (one, other) in pairs if i not in beside)


def _first_difference(
    reference: Reference, plan: Plan, by_hand: list[_Sample], made: list[_Native]
) -> _Verdict:
    """Blames the first node whose output differs."""
    for sample, ours in zip(by_hand, made, strict=True):
        if sample.fields is None and not isinstance(ours, str):
            return _Verdict(f"sample {sample.key} raises, and would not natively")
    if not plan.chain or plan.chain[0].op == "cv_read":  # no code makes a prefix of a loader
        return _Verdict("its samples differ")
    if plan.is_graph:  # which no prefix is a plan of
        ops = tuple(dict.fromkeys(node.op for node in plan.chain))
        return _Verdict("its views are other bits natively", ops)
    keys = [sample.key for sample in by_hand if sample.fields is not None]
    steps = _steps_of(plan.chain)
    step = _first_different_step(reference, plan, keys, steps[:-1]) or steps[-1]
    ops = tuple(node.op for node in plan.chain[step])
    return _Verdict(f"{plan.chain[step][0].label} gives other bits natively", ops)


def first_different_node(dataset: Any, plan: Plan, keys: list[int]) -> Node | None:
    """The node after which samples of these keys begin to differ from what the dataset's own code
    makes; None: they do not differ, or the plan is no single chain."""
    if plan.is_graph or plan.chain[:1] and plan.chain[0].op == "cv_read":
        return None
    with closing(Reference(dataset)) as reference:
        keys = list(dict.fromkeys(keys))
        comparable = _comparable(plan, len(keys))
        step = _first_different_step(reference, comparable, keys, _steps_of(plan.chain))
        return None if step is None else plan.chain[step.start]


def _steps_of(chain: list[Node]) -> list[slice]:
    """The nodes of each single transform: one, or a gate with those that it governs."""
    steps, start = [], 0
    while start < len(chain):
        node = chain[start]
        governed: int = node.args["nodes"] if node.op == "random_apply" else 0
        if node.op in ("random_order", "random_choice"):
            governed = sum(node.args["parts"])
        end = start + 1 + governed
        if node.args.get("library") == "torchvision.io":
            end += 1  # it makes a tensor, which two nodes do
        steps.append(slice(start, end))
        start = end
    return steps


def _first_different_step(
    reference: Reference, plan: Plan, keys: list[int], steps: list[slice]
) -> slice | None:
    for length, step in enumerate(steps, 1):
        prefix = replace(plan, chain=plan.chain[: step.stop], fields=[Field("chain")])
        prefix.lanes, prefix.rng = len(keys), "torch" if prefix.is_random else "none"
        by_hand = _begin_by_hand(reference, keys, prefix.other_generators, length=length)
        try:
            made, _ = _by_service(prefix, keys, by_hand)
        except Unsupported:
            continue  # an operator that has no native form without those after it
        finally:
            by_hand()
        if not all(map(_agree, made, by_hand())):
            return step
    return None
