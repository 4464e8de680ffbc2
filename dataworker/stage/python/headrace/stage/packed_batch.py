"""A batch as it was when it was made, whatever the program's code does next."""

from typing import Any, NamedTuple

from .pickling import Slot, pickle_batch


class _Copies(Slot):
    """In the place of a slot: takes copies of buffers."""

    def __init__(self) -> None:
        super().__init__(None, 0, 0)
        self.taken: list[bytes] = []

    def place(self, raw: memoryview) -> int:
        """The copy's number, in place of an offset."""
        self.taken.append(bytes(raw))
        return len(self.taken) - 1


class PackedBatch(NamedTuple):
    """Its pickle, and copies of its buffers, which nobody else has."""

    body: bytes
    buffers: list[bytes]

    @classmethod
    def of(cls, value: Any) -> "PackedBatch":
        """Raises what pickling the batch raises."""
        copies = _Copies()
        body, numbers, _ = pickle_batch(value, copies, shares=True)
        return cls(body, [copies.taken[number] for number in numbers])

    @classmethod
    def out_of(cls, slot: Slot, pickled: tuple[bytes, list[int], list[int]]) -> "PackedBatch":
        """`pickled`: as pickle_batch has put it there, and told nobody yet: a slot that was told of is not ours."""
        body, *places = pickled
        return cls(body, [bytes(slot.view(*place)) for place in zip(*places, strict=True)])

    def put(self, slot: Slot) -> tuple[bytes, list[int], list[int]]:
        """As pickle_batch; MemoryError where the slot is too small."""
        offsets = [slot.place(memoryview(buffer)) for buffer in self.buffers]
        if None in offsets:
            raise MemoryError
        return self.body, [each or 0 for each in offsets], [len(each) for each in self.buffers]
