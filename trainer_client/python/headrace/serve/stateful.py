"""torchdata's StatefulDataLoader: its own iterator, with lanes in the place of its processes.

All of its state is kept by its own code in the trainer, so a state is the same with and without
Headrace, and each side goes on from the other's. Imported when such a loader is served.
"""

import collections
import inspect
import os
import threading
import weakref
from typing import Any

from torch._utils import ExceptionWrapper
from torch.utils.data import _utils
from torch.utils.data.dataloader import _DatasetKind
from torchdata.stateful_dataloader import Stateful, worker
from torchdata.stateful_dataloader.incremental_state import _IncrementalWorkerState
from torchdata.stateful_dataloader.stateful_dataloader import (
    _StatefulMultiProcessingDataLoaderIter,
)

from ..capture import NativePlan
from ..native.plan import Local
from .loader_state import LoaderState
from .served import Served
from .worker_processes import WithWorkers


def check_servable(loader: Any) -> None:
    """Raises Local."""
    if loader.num_workers == 0:
        raise Local(
            "StatefulDataLoader with num_workers=0 keeps its state in step with the sampler, which "
            "may not run ahead: use num_workers=1 or more"
        )
    if loader._dataset_kind == _DatasetKind.Iterable:
        raise Local("StatefulDataLoader keeps the states of the iterators of its IterableDataset")
    if isinstance(loader.dataset, Stateful):
        raise Local("StatefulDataLoader keeps the state of its dataset, which has state_dict()")


class StatefulIter(
    WithWorkers,
    Served,
    _StatefulMultiProcessingDataLoaderIter,  # type: ignore[misc]  # torchdata has no types
):
    """Does what ServedIter does. Worker i of torchdata's code is lane i."""

    def __init__(self, loader: Any, state: LoaderState, captured: NativePlan) -> None:
        self._serve(loader, state, captured, loader.prefetch_factor * loader.num_workers)
        self._may_have_workers(loader)
        self._answers: collections.deque[Any] = collections.deque()
        self._indices: dict[int, tuple[int, int]] = {}  # batch -> (torchdata's number, lane)
        self._lanes: list[WorkerState] = []
        self._begun = self._continue_lanes = self._ready = False
        super().__init__(_Shown(loader, _Context(self)), loader.next_iter_state)
        self._profile_name = "enumerate(DataLoader)#_StatefulMultiProcessingDataLoaderIter.__next__"
        self._ready = True
        loader.next_iter_state = None

    @property
    def _pin_memory(self) -> bool:
        return self._pins and self._ready  # torchdata's own code shall not start its thread

    @_pin_memory.setter
    def _pin_memory(self, pins: bool) -> None:
        self._pins = pins

    @property
    def _workers(self) -> list[Any]:
        return super()._workers if self._ready else self._started

    @_workers.setter
    def _workers(self, started: list[Any]) -> None:
        self._started = started  # by torchdata's own code, which starts a WorkerState

    def _has_ended(self) -> bool:
        return self._shutdown

    def _reset(self, loader: Any, first_iter: bool = False, prime_prefetch: bool = True) -> None:
        self._check_process()
        self._continue_lanes = not first_iter
        self._begun = False
        super()._reset(loader, first_iter, prime_prefetch)

    def _next_data(self) -> Any:
        self._check_process()
        entered = self._enter_next()
        try:
            return super()._next_data()
        finally:
            self._leave_next(entered)

    # What torchdata's code asks of its queues.

    def put(self, lane: "WorkerState", message: Any) -> None:
        if isinstance(message, (worker._AckStartup, _utils.worker._ResumeIteration)):
            self._answers.append((message, lane.started(self, message)))
            return
        index, (keys, snapshot) = message
        if not self._begun:
            self._begin(lane.id)
        lane.snapshots[index] = snapshot
        self._indices[self._submit(keys)] = index, lane.id

    def _begin(self, lane: int) -> None:
        """`lane`: that of the first batch. A loaded state goes on with the lane after its last
        one."""
        self._begun = True
        self._take_handle()
        self._indices.clear()
        self._begin_lanes(continue_lanes=self._continue_lanes, first_batch=lane)

    def _get_data(self) -> Any:
        if self._answers:
            return self._answers.popleft()
        batch = self._wait()
        index, lane = self._indices.pop(batch.batch)
        try:
            data = self._deliver(batch)
        except Exception as error:
            data = _Raised(error)
        return index, (data, lane, self._lanes[lane].state_behind(self, index))

    # The end.

    def _shutdown_workers(self) -> None:
        signals = getattr(_utils, "signal_handling", None)  # None: the interpreter ends
        if signals is not None and getattr(self, "_worker_pids_set", False):
            signals._remove_worker_pids(id(self))
            self._worker_pids_set = False
        if os is None or os.getpid() != getattr(self, "_pid", -1):
            return
        self._shutdown = True
        if getattr(self, "_ready", False):
            self._workers_status = [False] * self._num_workers  # so that next() ends the epoch
        self._end_workers()
        handle = getattr(self, "_handle", None)
        if handle is None:
            return
        if self._rcvd_idx >= self._send_idx and handle.raw.outstanding == 0:
            self._give_handle()
            return
        self._handle = None
        handle.close()

    def __del__(self) -> None:
        self._shutdown_workers()


class WorkerState:
    """Replaces a worker process. Makes nothing; answers for its state."""

    pid = -1  # torch watches those of its workers for their end

    def __init__(self, lane: int, loaded: Any) -> None:
        self.id = lane
        self.snapshots: dict[int, bool] = {}  # of each batch: whether its state is wanted
        self._loaded = loaded
        self._known: Any = None

    def start(self) -> None:
        pass

    def started(self, iterator: Any, message: Any) -> Any:
        """Answers as the worker loop does when it has started, or begins another epoch."""
        self.snapshots.clear()
        state, loaded = self._state(iterator), self._loaded
        self._loaded = None
        self._known = _IncrementalWorkerState(state if loaded is None else loaded)
        if loaded is not None:
            state = self._known.generate_delta(state)
        return worker._AckStartup(self.id, state, is_delta=loaded is not None)

    def state_behind(self, iterator: Any, index: int) -> Any:
        wanted = self.snapshots.pop(index)
        return self._known.generate_delta(self._state(iterator)) if wanted else None

    def _state(self, iterator: Any) -> Any:
        return worker._make_state_dict(self.id, iterator._dataset_kind, None, iterator._dataset)


class _Raised(ExceptionWrapper):
    """What torchdata's code raises in its turn."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def reraise(self) -> None:
        raise self._error


class _Queue:
    """Replaces the queue to a worker."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator
        self.lane: Any = None

    def put(self, message: Any) -> None:
        self._iterator().put(self.lane, message)

    def cancel_join_thread(self) -> None:
        pass


class _Context:
    """Replaces multiprocessing."""

    Event = threading.Event

    def __init__(self, iterator: StatefulIter) -> None:
        self._iterator = weakref.ref(iterator)

    def Queue(self) -> _Queue:
        return _Queue(self._iterator)

    def Process(self, target: Any, args: tuple[Any, ...]) -> WorkerState:
        given = inspect.signature(target).bind(*args).arguments
        lane = WorkerState(given["worker_id"], given["worker_state"])
        given["index_queue"].lane = lane
        iterator: Any = self._iterator()
        iterator._lanes.append(lane)
        return lane


class _Shown:
    """The loader, as torchdata's code shall see it."""

    def __init__(self, loader: Any, context: _Context) -> None:
        self._loader = loader
        self.multiprocessing_context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
