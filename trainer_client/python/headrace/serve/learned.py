"""What is kept of a loader with num_workers=0 from epoch to epoch."""

from typing import TYPE_CHECKING, Any

from ..capture import NativePlan
from ..process.own_imports import Late
from .foresight import Foresight, Pace

if TYPE_CHECKING:
    from ..capture import live
else:
    live = Late("headrace.capture.live")


class Learned:
    """Its iterators may be in several threads: what they get wrong of it costs time only."""

    def __init__(self) -> None:
        self.foresight, self.pace = Foresight(), Pace()
        self._live: tuple[Any, live.Live] | None = None

    def live_of(self, dataset: Any, captured: NativePlan) -> "live.Live":
        """The data set as it was captured. One that was made for the same rows still tells, so that
        a library that the program has changed since is noticed."""
        kept = self._live
        if kept is not None and kept[0] is captured.rows:
            if kept[1].objects_same() or not kept[1].process_same():
                return kept[1]
        self._live = captured.rows, live.Live(dataset, captured)
        return self._live[1]
