"""Lanes of an iterable data set take turns until they end, as workers of the stock loader do."""

from itertools import cycle


class Turns:
    """Of one epoch. `window`: most batches that are outstanding."""

    def __init__(self, lanes: int, window: int, in_order: bool) -> None:
        self._lanes = lanes
        self._window = window
        self._in_order = in_order
        self._live = [True] * lanes
        self._outstanding = [0] * lanes
        self._made = [0] * lanes
        self._cycle = cycle(range(lanes))
        self._lane_of: dict[int, int] = {}

    def next(self) -> int | None:
        """The lane of the next batch; None: all have ended, or are busy enough."""
        for _ in range(self._lanes):
            lane = next(self._cycle)
            if not self._live[lane]:
                continue
            if self._in_order or self._outstanding[lane] < self._window // sum(self._live):
                return lane
        return None

    def submitted(self, batch: int, lane: int) -> None:
        self._lane_of[batch] = lane
        self._outstanding[lane] += 1

    def delivered(self, batch: int, ended: bool) -> None:
        lane = self._lane_of.pop(batch)
        self._outstanding[lane] -= 1
        if ended:
            self._live[lane] = False
        else:
            self._made[lane] += 1

    def idle_lanes(self) -> str:
        """What to say of lanes that have ended without a batch while others had some."""
        idle = [str(lane) for lane, made in enumerate(self._made) if made == 0]
        if not idle or len(idle) == self._lanes or any(self._live):
            return ""
        lanes = f"lane {idle[0]}" if len(idle) == 1 else f"lanes {', '.join(idle)}"
        return (
            f"{lanes} of {self._lanes} yielded nothing: the data set left all its samples to the "
            f"other workers (has it fewer shards than num_workers={self._lanes}?)"
        )
