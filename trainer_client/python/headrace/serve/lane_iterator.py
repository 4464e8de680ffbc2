"""The iterator of a loader whose code runs in lanes: torch's own, with a session in the place of its queues."""

import collections
import contextlib
import os
import time
import weakref
from typing import Any

from torch.utils.data import _utils
from torch.utils.data.dataloader import _DatasetKind, _MultiProcessingDataLoaderIter

from ..capture import StagePlan
from ..service import service
from ..service.report import say
from . import position
from .lanes import LaneContext, Lanes, died, own_context
from .loader_state import LoaderState
from .position import Placed, position_of
from .served import Served
from .state import encode_lanes, seed_behind


def idle_lanes(made: list[int]) -> str:
    """`made`: how many batches each lane has made. What to say of those without one, where others
    had some."""
    idle = [str(lane) for lane, batches in enumerate(made) if batches == 0]
    if not idle or len(idle) == len(made):
        return ""
    lanes = f"lane {idle[0]}" if len(idle) == 1 else f"lanes {', '.join(idle)}"
    return (
        f"{lanes} of {len(made)} yielded nothing: the data set left all its samples to the "
        f"other workers (has it fewer shards than num_workers={len(made)}?)"
    )


class Shown:
    """The loader that torch's code sees."""

    def __init__(self, loader: Any, context: Any) -> None:
        self._loader = loader
        self.multiprocessing_context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class ServedLanes(Lanes, Served):
    """What LaneIter and torchdata's iterator have in common: what comes of a session's batches. The
    number of a task is torch's own."""

    # Attributes of torch's iterator.
    _task_info: dict[int, Any]
    _workers_status: list[bool]
    _workers: list[Any]
    _mark_worker_as_unavailable: Any
    _loader: Any  # a weak reference
    _pins: bool  # what the loader says
    _pins_now: bool

    @property
    def _pin_memory(self) -> bool:
        # The code of torch's and torchdata's iterators starts no thread for it: _deliver pins.
        return self._pins and self._pins_now

    @_pin_memory.setter
    def _pin_memory(self, pins: bool) -> None:
        self._pins = pins

    def _open_lanes(self, loader: Any, state: LoaderState, captured: StagePlan) -> None:
        """Before the iterator's own __init__."""
        self._serve(loader, state, captured, loader.prefetch_factor * loader.num_workers)
        self._code, self._lanes = captured, []
        self._loader = weakref.ref(loader)
        self._answers: collections.deque[Any] = collections.deque()
        self._tasks: dict[int, tuple[int, int]] = {}  # batch of the session -> (task, lane)
        self._over: set[int] = set()  # lanes that have said that they end
        self._begun = self._continue_lanes = False
        self._found: Any = None  # what verdicts raise that came with the end

    def _session_for_lanes(self) -> None:
        """Before the first task of an iteration is submitted."""
        self._begun = True
        self._take_handle()
        self._tasks.clear()
        self._over.clear()
        if not self._continue_lanes:
            self._give_lanes(self._handle.raw)
        self._begin_lanes(
            continue_lanes=self._continue_lanes,
            doubts=self.doubted.number,
            lane_window=self._lane_window(),
            **self._beginning(),
        )

    def _beginning(self) -> dict[str, Any]:
        """The arguments of Session.begin."""
        return {}

    def lane_asked(self, lane: int, message: Any) -> None:
        if message is None:
            self._end_lane(lane)
        elif isinstance(message, _utils.worker._ResumeIteration):
            self._begun, self._continue_lanes = False, True
            self._answers.append((message, None))
        else:
            task, index = message
            if not self._begun:
                self._session_for_lanes()
            self._tasks[self._submit_to(lane, index)] = task, lane

    def _try_get_data(self, timeout: float = _utils.MP_STATUS_CHECK_INTERVAL) -> tuple[bool, Any]:
        """Returns what torch's method does: whether there is an answer, and (task, data)."""
        if self._answers:
            return True, self._answers.popleft()
        deadline = time.monotonic() + timeout
        while True:
            batch = self._wait_until(deadline)
            if batch is None:
                return False, None
            task, lane = self._tasks.pop(batch.batch, (None, -1))
            if task is None or task not in self._task_info:
                continue  # of a lane that has ended, or of the iteration before
            if lane in self._over and batch.missing:
                continue  # its process was told to end, and was asked for more before
            if batch.lane_ended:
                if not self._workers_status[lane]:
                    continue  # a stock worker says so once, whatever else it was asked for
                self._over.add(lane)
                return True, (task, _utils.worker._IterableDatasetStopIteration(lane))
            return True, (task, self._answer_of(task, lane, self._deliver(batch)))

    def _answer_of(self, task: int, lane: int, data: Any) -> Any:
        """What the library's code takes for the lane's answer."""
        return data

    def _get_data(self) -> Any:
        if self._timeout > 0:
            success, data = self._try_get_data(self._timeout)
            if not success:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            return data
        while True:
            success, data = self._try_get_data()
            if success:
                return data

    def _doubted(self) -> bool:
        ended = set() if self._persistent_workers else self._over  # whose processes were told to
        lanes = [lane for lane in range(len(self._lanes)) if lane not in ended]
        return self.doubted.told(self._handle.raw, lanes, self._state.report, self._captured.name)

    def _lost(self, batch: Any) -> None:
        """A batch that no process of its lane can make any more."""
        self._check_lanes(wait=1.0)

    def _check_lanes(self, wait: float = 0.0) -> None:
        """Raises what torch raises where a worker process has ended before its time."""
        status, workers = self._workers_status, self._workers
        failed = []
        for lane, process in enumerate(workers):
            if status[lane] and wait:
                process.join(wait)
            if status[lane] and not process.is_alive():
                failed.append(process)
                self._mark_worker_as_unavailable(lane)
        if failed:
            raise died(failed)

    def _settle(self) -> None:
        """The iteration ends: what was used and is still compared is waited for. Code that goes to no
        other host is not."""
        handle = self._handle
        if handle is None or handle.raw is None or self._code.stage.bundle is None:
            return
        from .state_seen import settle

        found = settle(handle.raw, self._code, self._state.report)
        self._found = self._found or found

    def _raise_found(self) -> None:
        """At the iteration's end. Where the program has left it, it was only said."""
        found, self._found = self._found, None
        if found is not None:
            raise found

    def _shutdown_workers(self) -> None:
        """The processes end as torch's own code ends them; the next iteration goes on with the
        session."""
        if _utils is None or _utils.python_exit_status in (True, None):
            return  # the interpreter ends, and torch's own code does nothing either
        if getattr(self, "_pid", -1) != os.getpid():
            return  # they are another process's children
        handle = self._handle
        self._settle()
        if handle is not None and handle.raw is not None:
            service.call(handle.raw.end)
        for lane in self._lanes:
            # Here, too: queues of an iterator that is garbage do not reach it, and torch's code would
            # wait for 5 s for each process.
            lane.end()
        super()._shutdown_workers()  # type: ignore[misc]  # torch's
        self._give_handle()


class LaneIter(Placed, ServedLanes, _MultiProcessingDataLoaderIter):
    """Yields what the stock iterator would. One thread; of no use after fork."""

    def __init__(self, loader: Any, state: LoaderState, captured: StagePlan) -> None:
        self._open_lanes(loader, state, captured)
        self._pins_now = False
        self._place(loader, draws=True)
        super().__init__(Shown(loader, LaneContext(self, own_context(loader))))
        self._profile_name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
        self._pins_now = True
        self._skip()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._check_process()
        if not first_iter:
            self._place(loader, draws=False)
        super()._reset(loader, first_iter)
        if not first_iter:
            # Seeds of samples would come again, with the same augmentations.
            sample = self._captured.plan.rng == "sample"
            self._base_seed = seed_behind(self._drawn) if sample else self._drawn

    def _place(self, loader: Any, draws: bool) -> None:
        self._batches_of = [0] * loader.num_workers
        self._position = position_of(loader, draws)
        self._position.start.rng = self._captured.plan.rng
        if self._tells_its_place(loader):
            self._position.lanes = _Lanes(self)

    def _tells_its_place(self, loader: Any) -> bool:
        """Lanes of persistent workers go on from one epoch to the next: a saved place must say how
        their generators stood at the epoch's beginning."""
        persistent = loader.persistent_workers and self._captured.plan.rng == "torch"
        return persistent and self._position.tracks

    def _tells_state(self) -> bool:
        return isinstance(self._position.lanes, _Lanes) or super()._tells_state()

    def _beginning(self) -> dict[str, Any]:
        if self._continue_lanes:
            return {}
        return {"lane_states": self._position.lane_states}

    def lane_states(self, end: bool) -> list[str] | None:
        """At the epoch's beginning, or, `end`, after all that was asked for."""
        if self._handle is None or self._handle.raw is None:
            return None
        return encode_lanes(service.call(self._handle.raw.lane_states, end=end))

    def _answer_of(self, task: int, lane: int, data: Any) -> Any:
        self._batches_of[lane] += 1
        return data

    def _shutdown_workers(self) -> None:
        if _utils is not None and _utils.python_exit_status is False and self._pid == os.getpid():
            self._position.freeze()
        super()._shutdown_workers()

    def _start_again(self, loader: Any) -> None:
        self._shutdown_workers()
        LaneIter.__init__(self, loader, self._state, self._code)

    def _skip(self) -> None:
        """Passes the batches that were received before. Their errors were, too."""
        for _ in range(self._position.batches):
            with contextlib.suppress(Exception):
                super()._next_data()  # type: ignore[no-untyped-call]  # torch's

    def _next_data(self) -> Any:
        self._check_process()
        if self._rewound is not None:
            self._follow_rewind()
        entered = self._enter_next()
        try:
            data = super()._next_data()  # type: ignore[no-untyped-call]  # torch's
        except StopIteration:
            self._position.finished = True
            self._say_idle_lanes()
            self._settle()
            self._raise_found()
            raise
        finally:
            self._leave_next(entered)
        self._position.batches += 1
        return data

    def _say_idle_lanes(self) -> None:
        if self._dataset_kind == _DatasetKind.Iterable and (idle := idle_lanes(self._batches_of)):
            say(self._state.report, self._captured.name, idle)


class _Lanes(position.Lanes):
    """The lanes of an iterator that may be gone."""

    def __init__(self, iterator: LaneIter) -> None:
        self._iterator = weakref.ref(iterator)

    def states(self, end: bool) -> list[str] | None:
        iterator = self._iterator()
        return iterator.lane_states(end) if iterator is not None else None
