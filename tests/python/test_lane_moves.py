"""A lane whose batches are made here and elsewhere in turn: the process of this host goes on from the
state that it is asked to go on from."""

import random

import pytest
from headrace.stage import wire
from headrace.stage.pickling import Slot, pickle_batch
from headrace.stage.randomness import get_state
from headrace.stage.wire import numbers
from support.lane_double import LaneDouble


class Lane(LaneDouble):
    """It draws one number a batch."""

    def __init__(self, **changed):
        super().__init__(
            lambda number: random.random(), **(changed or {"tells_state": True, "watched": False})
        )

    def batch(self, number, state=b"", room=4096, after=-1):
        """(what is answered, the state after it). `after`: the batch that is out before it."""
        answer = self.ask(number, room, state=state, after=after)
        self.outcome = answer.outcome
        return answer.body, answer.state


def pickle_of(value):
    return pickle_batch(value, Slot(None, 0, 4096))[0]


@pytest.fixture
def lane():
    before = random.getstate()
    random.seed(4)
    lane = Lane()
    yield lane
    lane.close()
    random.setstate(before)


def test_it_goes_on_from_the_state_that_came_from_elsewhere(lane):
    first, after = lane.batch(0)
    random.setstate(random.Random(77).getstate())
    elsewhere = get_state(lane.port._roots)
    other, _ = lane.batch(2, elsewhere)
    random.seed(77)
    assert pickle_of(random.random()) == other
    again, _ = lane.batch(1, after)
    random.seed(4)
    assert [pickle_of(random.random()) for _ in range(2)] == [first, again]


def test_a_batch_that_is_asked_again_from_the_same_state_is_not_made_again(lane):
    first = lane.batch(0)
    assert lane.batch(0) == first
    assert lane.made == 1


def test_a_batch_that_is_asked_again_from_another_state_is_made_again(lane):
    _, after = lane.batch(0)
    random.seed(77)
    wrong, _ = lane.batch(1, get_state(lane.port._roots))
    right, _ = lane.batch(1, after)
    assert (wrong != right, lane.made) == (True, 3)
    random.seed(4)
    random.random()
    assert pickle_of(random.random()) == right


def test_its_first_batch_is_made_again_from_its_beginning(lane):
    first = lane.batch(0)
    lane.batch(1, first[1])
    assert lane.batch(0) == first
    assert lane.made == 3


def test_a_batch_is_not_made_before_the_one_that_is_out_before_it():
    """That one was lost on its way, or refused by the worker: the lane's code must run in order."""
    random.seed(4)
    lane = Lane(ahead=2, ahead_bytes=4096)
    try:
        lane.batch(2, after=0)
        assert (lane.outcome, lane.made) == (numbers(wire.EARLY), 0)
        made = [lane.batch(0)[0], lane.batch(2, after=0)[0]]
        lane.batch(6, after=4)
        assert (lane.outcome, lane.made) == (numbers(wire.EARLY), 2)
        made += [lane.batch(6)[0], lane.batch(8, after=6)[0]]  # the trainer has made 4 by itself
        random.seed(4)
        assert made == [pickle_of(random.random()) for _ in range(4)]
    finally:
        lane.close()


def test_what_the_trainer_may_not_have_is_kept_and_no_more():
    """Batches are asked for ahead of those before them. A data worker may be lost with their answers."""
    lane = Lane(ahead=2, ahead_bytes=4096)
    try:
        made = [lane.batch(number)[0] for number in range(0, 8, 2)]
        assert [lane.batch(number)[0] for number in (4, 6, 2)] == [made[2], made[3], made[1]]
        assert lane.made == 4
        lane.batch(0)
        assert lane.outcome == numbers(wire.PASSED), "it was asked for all after that one"
        lane.batch(8, room=4097)
        lane.batch(6)
        assert lane.outcome == numbers(wire.PASSED), "a large one is asked for alone"
        assert lane.made == 5
    finally:
        lane.close()
