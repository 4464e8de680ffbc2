"""The iterator of a served loader, in the place of torch's own."""

import math
import operator
import os
import pickle
import sys
import time
import weakref
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data import _utils
from torch.utils.data.dataloader import _BaseDataLoaderIter
from torch.utils.dlpack import from_dlpack

from . import binding, samples, service, torch_frame
from .errors import HeadraceError, WorkersUnavailable
from .position import Lanes, Placed, looks_at_nothing_else, position_of
from .state import encode_lanes

# Longest wait without a look at signals, seconds.
_SLICE = 0.1
# A key that no dataset has: its sample is made here, where the dataset itself answers.
_NO_KEY = -1


class ServedIter(Placed, _BaseDataLoaderIter):
    """Yields what the stock iterator would, made elsewhere. One thread; of no use after fork."""

    def __init__(self, loader: Any, state: Any, captured: Any) -> None:
        self._handle: Any = None
        self._pid = os.getpid()
        self._state = state
        self._captured = captured
        self._count = captured.rows.count if captured.rows is not None else 0
        self._lazy = loader.num_workers == 0
        self._window = _window(loader)
        self._session_key = session_key(loader, captured)
        state.report.path, state.report.rng = captured.path, captured.plan.rng
        self._position = position_of(loader, draws=True)
        torch_frame.init(self, loader)
        if not self._lazy:
            super()._reset(loader, first_iter=True)  # the stock iterator starts samplers twice
        kind = "SingleProcess" if self._lazy else "MultiProcessing"
        self._profile_name = f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"
        self._begin(continue_lanes=False)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """persistent_workers: the next epoch of the same workers."""
        self._check_process()
        self._position = position_of(loader, draws=False)
        super()._reset(loader, first_iter)
        self._base_seed = self._drawn
        self._begin(continue_lanes=True)

    def _start_again(self, loader: Any) -> None:
        self._position = position_of(loader, draws=True)
        super()._reset(loader)
        self._base_seed = self._drawn
        self._begin(continue_lanes=False)

    def _begin(self, continue_lanes: bool) -> None:
        if self._handle is None:
            self._handle = self._state.take_session(self._session_key)
        opened = self._handle is None
        if self._handle is None:
            self._handle = self._state.open_session(self._captured, self._session_key)
        position = self._position
        position.start.rng = self._captured.plan.rng
        position.lanes = _Lanes(self)
        self._made: dict[tuple[int, int], samples.Made] = {}
        self._odd: dict[int, Any] = {}
        self._lengths: dict[int, int] = {}
        self._primed = self._done = False
        self._left = 0.0
        self._state.report.epochs += 1
        # Lanes whose generators are not known run the epoch again up to the place.
        again = position.batches > 0 and not self._can_skip(position)
        self._replay = position.batches if again else 0
        service.call(
            self._handle.raw.begin,
            base_seed=self._base_seed & 0xFFFFFFFFFFFFFFFF,
            continue_lanes=continue_lanes,
            first_batch=0 if again else position.batches,
            lane_draws=() if again else position.lane_draws or (),
            lane_states=position.lane_states,
        )
        for _ in range(0 if again else position.batches):
            service.call(self._handle.raw.skip, self._keys(self._next_index())[0])
        if not self._lazy:
            self._prime()
        if opened and self._captured.path == "python":
            await_served(self._handle, self._timeout)

    def _can_skip(self, position: Any) -> bool:
        if self._captured.path != "native":
            return False
        return self._captured.plan.rng != "torch" or position.lane_draws is not None

    def _prime(self) -> None:
        self._primed = True
        for _ in range(self._window):
            self._submit_next()

    def _submit_next(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        number = -1
        if type(index) is list and self._captured.path == "native":
            keys = index
            number = service.call(self._handle.raw.submit, index, self._count)
        if number < 0:  # not simply row numbers
            keys, odd = self._keys(index)
            number = service.call(self._handle.raw.submit, keys)
            if odd:
                self._odd[number] = list(index) if self._auto_collation else [index]
        self._lengths[number] = len(keys)

    def _keys(self, index: Any) -> tuple[list[int], bool]:
        """The batch's keys for the service, and whether some are not what the sampler yielded."""
        if self._captured.path == "python":
            return _integers(index if self._auto_collation else [index]), False
        count = self._count
        try:
            keys = list(map(operator.index, index))
            if not keys or (min(keys) >= 0 and max(keys) < count):
                return keys, False
        except TypeError:
            keys = [_index_or_none(key) for key in index]
        placed = [_NO_KEY if key is None else key + count if key < 0 else key for key in keys]
        return [key if 0 <= key < count else _NO_KEY for key in placed], True

    def _next_data(self) -> Any:
        self._check_process()
        if self._rewound is not None:
            self._follow_rewind()
        started = time.perf_counter()
        step = started - self._left if self._left else 0.0
        batch = self._receive()
        while self._replay > 0:
            self._replay -= 1
            self._drop(batch)
            batch = self._receive()
        self._position.batches += 1
        try:
            data = self._assemble(batch)
            if self._pin_memory:
                data = _utils.pin_memory.pin_memory(data, self._pin_memory_device)
        finally:
            self._left = time.perf_counter()
            self._state.report.delivered(
                self._captured.path, self._lengths.pop(batch.batch), self._left - started, step
            )
            if batch.missing:
                self._state.report.made_here(self._captured.path, len(batch.missing))
        return data

    def _receive(self) -> Any:
        """The next batch. Like the stock iterator, asks for another one before anything else."""
        if not self._done and (not self._primed or self._window == 1):
            self._prime()
        if self._done or self._handle.raw.outstanding == 0:
            self._finish()
            raise StopIteration
        batch = self._wait()
        if self._window > 1:
            self._submit_next()
        return batch

    def _wait(self) -> Any:
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        wait = _SLICE
        while True:
            if deadline is not None:
                wait = min(_SLICE, max(0.0, deadline - time.monotonic()))
            event = service.call(self._handle.raw.next, wait)
            if type(event) is binding.Batch:
                return event
            if event is not None:
                self._make_needed(event)
            elif deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    # What a delivered batch becomes.

    def _assemble(self, batch: Any) -> Any:
        if self._captured.path == "python":
            return self._unpickle(batch)
        fields = [from_dlpack(field) for field in batch.fields]
        if batch.copy_advised:
            fields = [field.clone() for field in fields]
        if not batch.missing:
            return fields
        made = self._make_missing(batch)
        if fields and samples.fill(fields, made):
            return fields
        labels = self._captured.plan.fields[0].kind == "chain"
        count = fields[0].shape[0] if fields else len(made)
        return self._collate(batch.batch, samples.rows(fields, made, count, labels))

    def _unpickle(self, batch: Any) -> Any:
        if batch.output:
            sys.stdout.write(batch.output)
            sys.stdout.flush()
        if batch.python_error:
            pickle.loads(batch.python_error).reraise()
        if batch.missing:  # its stage host died, or no worker could send it
            raise WorkersUnavailable(f"batch {batch.batch}: {batch.missing[0].message}")
        buffers = batch.buffers
        if batch.copy_advised:
            buffers = [bytearray(buffer) for buffer in buffers]
        return pickle.loads(batch.pickle, buffers=buffers)

    def _collate(self, batch: int, rows: list[Any]) -> Any:
        """What a worker of the stock loader does with samples of any kind."""
        if self._lazy:
            return self._collate_fn(rows)
        lane = batch % self._num_workers
        _utils.worker._worker_info = _utils.worker.WorkerInfo(
            id=lane,
            num_workers=self._num_workers,
            seed=self._base_seed + lane,
            dataset=self._dataset,
        )
        try:
            return self._collate_fn(rows)
        except Exception:
            wrapped = ExceptionWrapper(where=self._where(batch))
        finally:
            _utils.worker._worker_info = None
        wrapped.reraise()

    # Samples that only the dataset's own code can make.

    def _make_missing(self, batch: Any) -> dict[int, Any]:
        """The missing samples by position. Raises the first one's error."""
        made: dict[int, Any] = {}
        for missing in batch.missing:
            sample = self._made.pop((batch.batch, missing.position), None) or self._make(
                batch.batch, missing.position, missing.key, missing.torch_state, missing.seed
            )
            if sample.error is not None:
                self._odd.pop(batch.batch, None)
                if missing.torch_state and not sample.resolved:
                    service.call(self._handle.raw.replan_lane, batch.batch, sample.state_after)
                samples.raise_made(sample.error, self._dataset, sample.key)
            made[missing.position] = sample.value
        self._odd.pop(batch.batch, None)
        return made

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
            sample.error is not None,
        )

    def _make(self, batch: int, position: int, key: int, torch_state: bytes, seed: Any) -> Any:
        odd = self._odd.get(batch)
        key = odd[position] if odd is not None else key
        use_seed = seed if self._captured.plan.rng == "sample" else None
        return samples.make(self._dataset, key, self._where(batch), torch_state, use_seed)

    def _where(self, batch: int) -> str:
        if self._lazy:
            return ""
        return f"in DataLoader worker process {batch % self._num_workers}"

    def _drop(self, batch: Any) -> None:
        """A batch that the program received before it was resumed."""
        if self._captured.path == "native":
            try:
                self._make_missing(batch)
            except Exception:
                self._made.clear()

    # The end.

    def _finish(self) -> None:
        self._done = self._position.finished = True
        if not self._persistent_workers:
            self._position.freeze()
            handle, self._handle = self._handle, None
            if handle is not None:
                self._state.give_session(self._session_key, handle)

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise HeadraceError(
                f"this iterator belongs to process {self._pid}: "
                "call iter() on the DataLoader again in the child process"
            )

    def lane_draws(self) -> list[int] | None:
        if self._captured.path != "native" or self._captured.plan.rng != "torch":
            return None
        try:
            return self._handle.raw.lane_draws() if self._handle is not None else None
        except binding.HeadraceError:
            return None  # not known, or the service has ended

    def lane_states(self, end: bool) -> list[str] | None:
        if self._captured.path != "python" or not self._persistent_workers:
            return None
        if self._handle is None:
            return None
        return encode_lanes(service.call(self._handle.raw.lane_states, end=end))

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and os is not None:
            if os.getpid() == self._pid:
                self._abandon()

    def _abandon(self) -> None:
        """A break, an exception, a del: what is outstanding is cancelled and freed at once."""
        self._position.freeze()
        handle, self._handle = self._handle, None
        handle.close()


def session_key(loader: Any, captured: Any) -> tuple[str, int, bool]:
    """Iterations with the same key may use the same session."""
    in_order = getattr(loader, "in_order", True) or loader.num_workers == 0
    return captured.signature, _window(loader), in_order


def await_served(handle: Any, timeout: float) -> None:
    """Code that no worker can load is an error here, not a batch that never comes. `timeout`: the
    loader's, seconds; 0: none."""
    service.call(handle.raw.await_served, timeout or math.inf)


def _window(loader: Any) -> int:
    """Most batches asked for and not yet received."""
    if loader.num_workers > 0:
        return loader.prefetch_factor * loader.num_workers
    # The stock loader asks the sampler when the batch is wanted. One batch ahead makes no
    # difference to samplers that are known to look at nothing else.
    return 2 if looks_at_nothing_else(loader) else 1


class _Lanes(Lanes):
    """Asks an iterator that may be gone."""

    def __init__(self, iterator: ServedIter) -> None:
        self._iterator = weakref.ref(iterator)

    def draws(self) -> list[int] | None:
        iterator = self._iterator()
        return iterator.lane_draws() if iterator is not None else None

    def states(self, end: bool) -> list[str] | None:
        iterator = self._iterator()
        return iterator.lane_states(end) if iterator is not None else None


def _index_or_none(key: Any) -> int | None:
    try:
        return operator.index(key)
    except TypeError:
        return None


class KeysNotIntegers(TypeError):
    """The sampler yields keys that cannot be sent to a Python stage."""


def _integers(keys: Any) -> list[int]:
    try:
        return list(map(operator.index, keys))
    except TypeError:
        raise KeysNotIntegers("the sampler yields keys that are not integers") from None
