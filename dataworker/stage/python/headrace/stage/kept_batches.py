"""What a lane has made and the trainer may not have yet (lane.py)."""

from typing import Any

from ..records import dataclass
from .lane_requests import Asked


@dataclass
class Made:
    """A batch that may be asked for again, because a data worker was lost with it, or the slot was too small."""

    name: list[int]
    before: bytes  # the state of the generators that it was asked to be made from
    value: Any = None
    samples: Any = None  # what it was stacked from, where that was into a slot
    error: bytes = b""
    ended: bool = False
    count: int = 0
    state: bytes = b""
    change: str = ""  # what the code was seen to keep


class KeptBatches:
    """Those of one lane, in their order. One thread."""

    def __init__(self, most: int, most_bytes: int) -> None:
        """The trainer asks for a batch when it has all before it, or, in a slot of `most_bytes` or less, all
        but the last `most`."""
        self._most, self._most_bytes = most, most_bytes
        self._made: list[Made] = []

    def add(self, made: Made) -> None:
        self._made.append(made)

    def find(self, asked: Asked) -> Made | None:
        called = asked.request.name, asked.request.state
        return next((one for one in self._made if (one.name, one.before) == called), None)

    def make_room(self, asked: Asked) -> None:
        """A batch is asked for the first time."""
        kept = self._most if asked.request.slot_bytes <= self._most_bytes else 0
        del self._made[: max(0, len(self._made) - kept)]
