"""What the iterators of served loaders have in common: one session, and what its batches become."""

import math
import operator
import os
import time
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import _utils
from torch.utils.data.dataloader import _DatasetKind

from ..admission.plain import Plain
from ..capture import NativePlan, StagePlan
from ..capture import Served as ServedPlan
from ..errors import HeadraceError, WorkersUnavailable
from ..native import binding
from ..process.own_imports import Late
from ..service import answers, service
from .bad_samples import BadSamples
from .loader_state import LoaderState
from .made_here import MadeHere
from .printed import show
from .remaining import tell

if TYPE_CHECKING:
    from ..admission import comparison, samples
    from . import missing, pinning
else:
    comparison = Late("headrace.admission.comparison")
    samples = Late("headrace.admission.samples")
    missing, pinning = Late("headrace.serve.missing"), Late("headrace.serve.pinning")

# Longest wait without a look at signals, seconds.
_SLICE = 0.1
_INTEGERS = (int, np.integer)
# A key that no dataset has: its sample is made here, where the dataset itself answers.
_NO_KEY = -1


class Served(MadeHere):
    """Mixed in front of an iterator of torch's, whose attributes it reads. Yields nothing itself.
    One thread; of no use after fork."""

    # Attributes of torch's iterator.
    _auto_collation: bool
    _base_seed: Any
    _collate_fn: Any
    _dataset: Any
    _dataset_kind: int
    _num_workers: int
    _pin_memory: Any
    _pin_memory_device: Any
    _timeout: float

    def _serve(self, loader: Any, state: LoaderState, captured: ServedPlan, window: int) -> None:
        """Before the iterator's own __init__. `window`: most batches asked for and not received."""
        self._handle: Any = None
        self._pid = os.getpid()
        self._state = state
        self._captured = captured
        self._count = captured.rows.count if isinstance(captured, NativePlan) else 0
        self._lazy = loader.num_workers == 0
        self._window = window
        self._session_key = session_key(loader, captured, window)
        self._served_loader = weakref.ref(loader)
        state.report.path, state.report.rng = captured.path, captured.plan.rng
        self._reference = state.take_reference(loader)
        self._comparison: comparison.Comparison | Plain = Plain()
        if isinstance(captured, NativePlan):
            self._comparison = comparison.comparison_of(loader, captured, self._reference, state)
        self._make_here(BadSamples(loader, state.report, captured.name))

    # The session.

    def _take_handle(self) -> None:
        """Takes the handle of the iteration before, or a new one."""
        if self._handle is None:
            self._handle = self._state.take_session(self._session_key)
        if self._handle is None:
            self._handle = self._state.open_session(self._captured, self._session_key)

    def _give_handle(self) -> None:
        """The iteration has ended: the next one of this loader may go on with the session."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._state.give_session(self._session_key, handle)

    def _begin_lanes(self, **named: Any) -> None:
        """`named`: as Session.begin, less the base seed."""
        self._made.clear()
        self._odd.clear()
        self._lengths: dict[int, int] = {}
        self._state.report.epochs += 1
        self._epoch = self._epoch + 1 if named.get("continue_lanes") else 0
        seed = self._base_seed & 0xFFFFFFFFFFFFFFFF
        captured = self._captured
        if isinstance(captured, NativePlan) and captured.plan.rng == "torch":
            named["lane_seeds"] = captured.seeds(self._base_seed)
        service.call(self._handle.raw.begin, base_seed=seed, **named)
        loader, passed = self._served_loader(), named.get("first_batch", 0)
        tell(self._handle, loader, self._state, captured.name, passed)
        self._comparison.begin(self._handle.raw, self._base_seed, named.get("first_batch", 0))

    # What the time in next() goes to (docs/reference/stall.md).

    def _enter_next(self) -> Any:
        """Returns what _leave_next wants."""
        handle = self._handle
        if handle is not None:
            handle.enter_next()
        return handle

    def _leave_next(self, handle: Any) -> None:
        if handle is not None:
            handle.leave_next()

    def _next_index(self) -> Any:
        raw = self._handle.raw if self._handle is not None else None
        if raw is None:
            return super()._next_index()  # type: ignore[misc]  # torch's
        raw.enter_sampler()
        try:
            return super()._next_index()  # type: ignore[misc]  # torch's
        finally:
            raw.leave_sampler()

    # What is asked for.

    def _submit(self, index: Any) -> int:
        """The batch's number. `index`: what the sampler yielded."""
        number: int = -1
        if type(index) is list and index and self._are_integers(set(map(type, index))):
            keys = index
            number = service.call(self._handle.raw.submit, index, self._count)
        if number < 0:  # not simply row numbers
            keys, odd = self._keys(index)
            number = service.call(self._handle.raw.submit, keys)
            if odd:
                self._odd[number] = list(index) if self._auto_collation else [index]
        self._lengths[number] = len(self._odd.get(number, keys))
        self._comparison.submitted(number, keys, number in self._odd)
        return number

    def _submit_to(self, lane: int, index: Any) -> int:
        """Does what _submit does, for a lane's process, which gets what the sampler yielded."""
        number: int
        keys = index if self._auto_collation else [index]
        if type(keys) is list and all(type(key) is int for key in keys) and keys:
            number = service.call(self._handle.raw.submit, keys, lane=lane)
        else:
            keys = [0] * (len(keys) if hasattr(keys, "__len__") else 1) or [0]
            pickled = bytes(ForkingPickler.dumps(index))
            number = service.call(self._handle.raw.submit, keys, lane=lane, index=pickled)
        if self._dataset_kind != _DatasetKind.Iterable:  # which may end within a batch
            self._lengths[number] = len(keys)
        return number

    @cached_property
    def _index_types(self) -> tuple[type, ...] | None:
        return self._captured.rows.index_types if isinstance(self._captured, NativePlan) else None

    def _are_integers(self, types: set[type]) -> bool:
        """Whether indices of these types are numbers of rows, whatever they are: True is none."""
        if self._index_types and types - set(self._index_types):
            return False
        return all(one is not bool and issubclass(one, _INTEGERS) for one in types)

    def _keys(self, index: Any) -> tuple[list[int], bool]:
        """The batch's keys for the service, at least one, and whether some are not what the sampler
        yielded."""
        count, own = self._count, self._index_types
        try:
            if not self._are_integers(set(map(type, index))):
                raise TypeError
            keys = list(map(operator.index, index))
            if not keys:
                return [_NO_KEY], True
            if min(keys) >= 0 and max(keys) < count:
                return keys, False
            known: list[int | None] = [*keys]
        except TypeError:
            known = [_index_or_none(key) if not own or type(key) in own else None for key in index]
        if own is not None:  # the program's own code takes a negative one as it likes
            known = [None if key is not None and key < 0 else key for key in known]
        placed = [_NO_KEY if key is None else key + count if key < 0 else key for key in known]
        return [key if 0 <= key < count else _NO_KEY for key in placed], True

    def _wait(self) -> Any:
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        batch = self._wait_until(deadline)
        if batch is None:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        return batch

    def _wait_until(self, deadline: float | None) -> Any:
        """The next batch; None: there is none yet. `deadline`: on time.monotonic(), or None."""
        wait = _SLICE
        while True:
            if deadline is not None:
                wait = min(_SLICE, max(0.0, deadline - time.monotonic()))
            event = service.call(self._handle.raw.next, wait)
            if type(event) is binding.Batch:
                return event
            if type(event) is binding.Suspicion:
                self._judge(event)
            elif type(event) is binding.StateChange:
                self._learn(event)
            elif event is True:
                if self._doubted():
                    deadline, wait = None, _SLICE  # what is made again takes as long as it takes
            elif event is not None:
                self._make_needed(event)
            elif deadline is not None and time.monotonic() >= deadline:
                return None
            else:
                self._check_lanes()

    def _judge(self, suspicion: Any) -> None:
        from ..admission.suspicion import judge

        judge(self._handle.raw, suspicion, self._state.report, self._captured.name)

    def _learn(self, change: Any) -> None:
        from .state_seen import learn

        assert isinstance(self._captured, StagePlan)  # nobody watches operators
        learn(change, self._captured, self._state.report)

    def _doubted(self) -> bool:
        """Results that lanes gave may be wrong. Whether batches are made again."""
        return False

    def _check_lanes(self, wait: float = 0.0) -> None:
        """Raises where processes of the program's have ended that should not; has waited up to `wait`
        seconds for the end of each."""

    def _lost(self, batch: Any) -> None:
        """Raises why nobody makes this batch, where something better is known than the batch says."""

    # What a delivered batch becomes.

    def _deliver(self, batch: Any) -> Any:
        """The batch as the program sees it."""
        self._left_out = set()
        try:
            data = self._assemble(batch)
            if self._pin_memory and not isinstance(data, ExceptionWrapper):
                raw = self._handle.raw if self._handle is not None else None
                copy = raw.copy if raw is not None else None
                data = pinning.pinned(data, self._pin_memory_device, copy)
        finally:
            self._bad.take()
            samples_in_it = self._lengths.pop(batch.batch, batch.samples) - len(self._left_out)
            self._state.report.delivered(self._captured.path, samples_in_it)
            if batch.missing:
                self._state.report.made_here(self._captured.path, len(batch.missing))
        return data

    def _assemble(self, batch: Any) -> Any:
        if isinstance(self._captured, StagePlan):
            return self._unpickle(batch)
        captured = self._captured
        if self._odd.get(batch.batch) == []:
            del self._odd[batch.batch]
            return self._collate(batch.batch, [])
        fields = captured.tensors(batch)
        if fields is None:
            self._comparison.delivered(batch, [])
            self._state.report.made_here(captured.path, len(batch.keys) - len(batch.missing))
            made = self._make_missing(batch, missing.make_all)
            return self._collate(batch.batch, [made[position] for position in sorted(made)])
        self._comparison.delivered(batch, fields)
        if batch.copy_advised:
            fields = captured.copies(fields)
        if not batch.missing:
            return self._batch(batch.batch, captured, fields)
        made = self._make_missing(batch)
        without = self._left_out
        stacks = captured.form is None and captured.targets is None and not without
        if stacks and fields and samples.fill(fields, made, captured):
            return captured.batch(fields)
        count = len(fields[0]) if fields else len(batch.keys)
        return self._collate(batch.batch, samples.rows(fields, made, count, captured, without))

    def _unpickle(self, batch: Any) -> Any:
        """The batch, or the ExceptionWrapper of what was raised in its place."""
        show(batch)
        if batch.python_error:
            return answers.error_of(batch)
        if batch.missing:  # no process could make it
            self._lost(batch)
            raise WorkersUnavailable(f"batch {batch.batch}: {batch.missing[0].message}")
        buffers = batch.buffers
        if batch.copy_advised:
            buffers = [bytearray(buffer) for buffer in buffers]
        return answers.value_of(batch, buffers)

    def _batch(self, batch: int, captured: NativePlan, fields: list[Any]) -> Any:
        if captured.form is None and captured.targets is None:
            return captured.batch(fields)
        device = None if self._lazy else "cpu"
        join = partial(samples.joined, self._collate_fn, fields, captured, device)
        return self._as_worker(batch, join)

    def _collate(self, batch: int, rows: list[Any]) -> Any:
        """What a worker of the stock loader does with samples of any kind."""
        return self._as_worker(batch, partial(self._collate_fn, rows))

    def _as_worker(self, batch: int, make: Callable[[], Any]) -> Any:
        """What it makes, or raises, where a worker of the stock loader makes this batch."""
        if self._lazy:
            return make()
        lane = batch % self._num_workers
        _utils.worker._worker_info = _utils.worker.WorkerInfo(
            id=lane,
            num_workers=self._num_workers,
            seed=self._base_seed + lane,
            dataset=self._dataset,
        )
        try:
            return make()
        except Exception:
            wrapped = ExceptionWrapper(where=self._where(batch))
        finally:
            _utils.worker._worker_info = None
        wrapped.reraise()

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise HeadraceError(
                f"this iterator belongs to process {self._pid}: "
                "call iter() on the DataLoader again in the child process"
            )


def batch_of(index: Any) -> Any:
    """What the sampler yielded, where an iterator becomes what it yields."""
    return list(index) if isinstance(index, Iterator) else index


def _index_or_none(key: Any) -> int | None:
    if type(key) is bool:
        return None  # to a tensor it is a mask
    if isinstance(key, torch.Tensor) and (key.ndim > 0 or key.dtype == torch.bool):
        return None  # to a tensor it takes rows
    try:
        return operator.index(key)
    except TypeError:
        return None


def session_key(loader: Any, captured: ServedPlan, window: int) -> tuple[str, int, bool]:
    """Iterations with the same key may use the same session."""
    # One worker process gives its batches in order, whatever is asked for.
    in_order = getattr(loader, "in_order", True) or loader.num_workers < 2
    return captured.signature, window, in_order


def await_served(handle: Any) -> None:
    """Code that no worker takes is an error here, not a batch that never comes."""
    service.call(handle.raw.await_served, math.inf)
