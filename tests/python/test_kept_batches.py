"""What a lane keeps of its batches is as they were made, whatever the program's code writes afterwards."""

import mmap
import os
import random
from types import SimpleNamespace

import pytest
import torch
from headrace.stage import wire
from headrace.stage.kept_batches import KeptBatches, Made
from headrace.stage.pickling import Arena, Slot, collating, unpickle_batch
from headrace.stage.wire import Request, numbers
from support.batch_request import packed_request
from support.lane_double import LaneDouble
from torch.utils.data import default_collate

SEED = 20261130
ROOM, FLOATS = 1 << 16, 2000  # bytes of a slot; numbers in a sample


class Memory:
    """Of a worker's slots."""

    def __init__(self, size=1 << 20):
        self.fd = os.memfd_create("arena")
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)

    def slot(self, offset, size):
        return Slot(Arena(os.dup(self.fd)), offset, size)

    def batch(self, body, offsets, sizes, begin=0):
        places = [(begin + offset, size) for offset, size in zip(offsets, sizes, strict=True)]
        return unpickle_batch(body, [bytearray(self.map[at : at + size]) for at, size in places])


def asked(number, room=ROOM):
    return SimpleNamespace(request=SimpleNamespace(name=[1, number], state=b"", slot_bytes=room))


def stacked(samples, slot):
    with collating(slot):
        return default_collate(samples)


def equal(one, other):
    return all(torch.equal(here, there) for here, there in zip(one, other, strict=True))


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("into_slot", [True, False])
def test_neither_samples_nor_a_slot_that_change_change_it(fits, into_slot):
    rng = random.Random(SEED)
    memory, kept = Memory(), KeptBatches(2, ROOM)
    samples = [(torch.full((FLOATS,), rng.random()), torch.tensor(n)) for n in range(3)]
    own = [torch.full((FLOATS,), 5.0), torch.arange(3)]
    right = default_collate(samples) if into_slot else [part.clone() for part in own]
    kept.make_room(asked(0), default_collate)
    slot = memory.slot(0, ROOM if fits else FLOATS)
    value = stacked(samples, slot) if into_slot else own
    made = Made([1, 0], b"", value, samples if into_slot else None)
    if fits:
        made.put(slot, copies=kept.are_asked_ahead(asked(0)))
    else:
        with pytest.raises(MemoryError):
            made.put(slot, copies=kept.are_asked_ahead(asked(0)))
    kept.add(made)
    memory.map[:ROOM] = b"\7" * ROOM if fits else memory.map[:ROOM]
    kept.make_room(asked(2), default_collate)  # and now the program's code runs
    for part in (*(first for first, _ in samples), own[0]):
        part.fill_(-1)
    memory.map[:ROOM] = b"\7" * ROOM
    again = kept.find(asked(0))
    second = memory.slot(ROOM, ROOM)
    again.stack_again(second, default_collate)
    assert equal(memory.batch(*again.put(second, copies=True), begin=ROOM), right), SEED
    small = memory.slot(ROOM, FLOATS)
    with pytest.raises(MemoryError):
        again.put(small, copies=True)
    assert small.needed >= FLOATS * 4, "it says how much it takes"


def test_what_the_trainer_has_by_then_is_not_copied():
    memory, kept = Memory(), KeptBatches(2, ROOM)
    samples = [torch.zeros(FLOATS)]
    for ahead in (KeptBatches(0, ROOM), kept):
        room = ROOM if ahead is not kept else ROOM + 1
        slot = memory.slot(0, room)
        made = Made([1, 0], b"", stacked(samples, slot), samples)
        made.put(slot, copies=ahead.are_asked_ahead(asked(0, room)))
        assert made.packed is None and made.samples is samples
        ahead.add(made)
        ahead.make_room(asked(2, room), default_collate)
        assert ahead.find(asked(0)) is None


class Ring(LaneDouble):
    """Its data set has one buffer for each place of a batch, and its data workers have memory of their own."""

    def __init__(self, collate_fn=default_collate, size=2):
        self.buffers = [torch.zeros(FLOATS) for _ in range(size)]
        super().__init__(self.fill, collate_fn, ahead=2, ahead_bytes=ROOM)

    def fill(self, number):
        for place, buffer in enumerate(self.buffers):
            buffer.fill_(number * 10 + place)
        return self.collate(self.buffers)

    def connect(self):
        self.memory = Memory()
        super().connect(self.memory.fd)

    def batch(self, number, room=ROOM):
        """The batch, or what came of it."""
        answer = self.ask(number, room)
        if answer.outcome != numbers(wire.MADE):
            return answer.outcome
        batch = self.memory.batch(answer.body, answer.offsets, answer.sizes)
        # The trainer has it, and uses the slot again.
        self.memory.map[:] = b"\7" * len(self.memory.map)
        return batch


@pytest.fixture(params=["stacked", "the code's own"])
def ring(request):
    own = request.param == "the code's own"
    ring = Ring((lambda samples: samples[0]) if own else default_collate, 1 if own else 2)
    ring.whole = (lambda batch: batch) if own else (lambda batch: batch[0])
    yield ring
    ring.close()


def right(ring, number):
    return torch.full((FLOATS,), float(number * 10))


def test_a_batch_that_did_not_fit_is_right_after_the_next_one(ring):
    assert ring.batch(0, room=FLOATS) == numbers(wire.TOO_SMALL)
    assert torch.equal(ring.whole(ring.batch(2)), right(ring, 2)), "it was in the lane's socket"
    for _ in range(2):
        assert torch.equal(ring.whole(ring.batch(0)), right(ring, 0))
    assert ring.made == 2


def test_a_batch_whose_worker_was_lost_is_right_after_the_next_ones(ring):
    for number in (0, 2, 4):
        assert torch.equal(ring.whole(ring.batch(number)), right(ring, number))
    ring.worker.close()
    ring.connect()
    for number in (2, 4, 0):
        ring.port._requests.next(0)
        got = ring.batch(number)
        assert torch.equal(ring.whole(got), right(ring, number)), number
    assert ring.made == 3


def test_a_batch_that_was_made_unheard_is_right_after_the_next_one(ring):
    """As where another process goes on, after a damaged picture."""
    ring.port._voice.silent = True
    asked = SimpleNamespace(worker=None, number=b"", slot=Slot(None, 0, 0))
    asked.request = Request(packed_request([0], ROOM))
    ring.port._replay = iter([asked])
    item = ring.port.get(0)
    ring.port.put((item[0], ring.fill(0)))
    ring.port._voice.silent = False
    ring.batch(2)
    assert torch.equal(ring.whole(ring.batch(0)), right(ring, 0))
