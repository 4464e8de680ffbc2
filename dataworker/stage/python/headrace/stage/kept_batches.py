"""What a lane has made and the trainer may not have yet (lane.py).

Samples are objects of the program's, which may write into them when it makes the next batch. So a batch is copied
before the program's code runs again, unless the trainer has it by then.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..records import dataclass
from .lane_requests import Asked
from .packed_batch import PackedBatch
from .pickling import Slot, collating, pickle_batch


@dataclass
class Made:
    """A batch that may be asked for again, because a data worker was lost with it, or the slot was too small."""

    name: list[int]
    before: bytes  # the state of the generators that it was asked to be made from
    value: Any = None
    samples: Any = None  # what it was stacked from, where that was into a slot
    packed: PackedBatch | None = None  # in the place of both
    error: bytes = b""
    ended: bool = False
    count: int = 0
    state: bytes = b""
    change: str = ""  # what the code was seen to keep

    def put(self, slot: Slot, copies: bool) -> tuple[bytes, list[int], list[int]]:
        """As pickle_batch. `copies`: out of the slot, because the program's code may run before the trainer has it.
        What did not fit is asked for again, as a rule before that: pack() copies it where it is not."""
        if self.packed is not None:
            return self.packed.put(slot)
        pickled = pickle_batch(self.value, slot, shares=True)
        if copies:
            self._becomes(PackedBatch.out_of(slot, pickled))
        return pickled

    def stack_again(self, slot: Slot, collate: Callable[[Any], Any]) -> None:
        """Its slot may be another batch's by now."""
        if self.samples is not None:
            with collating(slot):
                self.value = collate(self.samples)

    def pack(self, collate: Callable[[Any], Any]) -> None:
        """The program's code is about to run."""
        if self.packed is None and not self.error and not self.ended:
            with suppress(Exception):  # it is met again where the batch is wanted
                self.stack_again(Slot(None, 0, 0), collate)
                self._becomes(PackedBatch.of(self.value))

    def _becomes(self, packed: PackedBatch) -> None:
        self.packed, self.value, self.samples = packed, None, None


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

    def are_asked_ahead(self, asked: Asked) -> bool:
        """Whether others may be asked for before the trainer has this one."""
        return self._most > 0 and asked.request.slot_bytes <= self._most_bytes

    def make_room(self, asked: Asked, collate: Callable[[Any], Any]) -> None:
        """A batch is asked for the first time, and the program's code is about to make it."""
        kept = self._most if self.are_asked_ahead(asked) else 0
        del self._made[: max(0, len(self._made) - kept)]
        for made in self._made:
            made.pack(collate)
