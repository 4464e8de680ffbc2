"""torchdata's StatefulDataLoader whose code runs in lanes: its own iterator and worker processes, with a
session in the place of its queues (lanes.py), and the states of its workers kept in the trainer
(stateful.py)."""

from typing import Any

from torch.utils.data import _utils
from torchdata.stateful_dataloader import worker
from torchdata.stateful_dataloader.stateful_dataloader import (
    _StatefulMultiProcessingDataLoaderIter,
)

from ..capture import StagePlan
from .lane_iterator import ServedLanes, Shown
from .lanes import LaneContext, own_context
from .loader_state import LoaderState
from .stateful import WorkerState


class StatefulLaneIter(
    ServedLanes,
    _StatefulMultiProcessingDataLoaderIter,  # type: ignore[misc]  # torchdata has no types
):
    """Does what LaneIter does."""

    def __init__(self, loader: Any, state: LoaderState, captured: StagePlan) -> None:
        self._open_lanes(loader, state, captured)
        self._pins_now = False
        self._states: list[WorkerState] = []
        context = LaneContext(self, own_context(loader))
        super().__init__(Shown(loader, context), loader.next_iter_state)
        self._profile_name = "enumerate(DataLoader)#_StatefulMultiProcessingDataLoaderIter.__next__"
        self._pins_now = True
        loader.next_iter_state = None

    def lane_loop(self, target: Any, arguments: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """torch's own loop: of a data set without a state torchdata's does nothing else."""
        _, given = super().lane_loop(target, arguments)
        self._states.append(WorkerState(given["worker_id"], given.pop("worker_state")))
        return _utils.worker._worker_loop, given

    def lane_asked(self, lane: int, message: Any) -> None:
        resumes = isinstance(message, _utils.worker._ResumeIteration)
        if resumes:
            self._begun, self._continue_lanes = False, True
        if resumes or isinstance(message, worker._AckStartup):
            self._answers.append((message, self._states[lane].started(self, message)))
        elif message is None:
            self._end_lane(lane)
        else:
            task, (index, snapshot) = message
            self._states[lane].snapshots[task] = snapshot
            super().lane_asked(lane, (task, index))

    def _answer_of(self, task: int, lane: int, data: Any) -> Any:
        return data, lane, self._states[lane].state_behind(self, task)

    def _next_data(self) -> Any:
        self._check_process()
        entered = self._enter_next()
        try:
            return super()._next_data()
        except StopIteration:
            self._settle()
            self._raise_found()
            raise
        finally:
            self._leave_next(entered)
