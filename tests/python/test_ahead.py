"""Ahead of the code: what a lane says to its worker, when, and when it stops. On a clock of the test's own."""

import os

import pytest
from headrace.stage import ahead_seen
from headrace.stage.ahead import Ahead, KeysAhead
from headrace.stage.ahead_choice import Choice
from headrace.stage.ahead_door import Said


class Held:
    def __init__(self, names):
        self.names = names


class Lane:
    """A lane whose data set opens one file a sample, and a worker that reads ahead."""

    def __init__(self, folder="/data", files=10_000, cold=True):
        self.now = self.busy = 0.0
        self.cold, self.folder = cold, folder
        self.waiting: list[int] = []
        self.asked: list[list[str]] = []
        self.answers = True
        self.opens = lambda key: f"{folder}/{key * 7}.jpg"
        self.dataset = Held([f"{key * 7}.jpg" for key in range(files)])
        self.known = True
        self.ahead = Ahead(self.dataset, self.ask, lambda: self.now, self)
        self._told = 0
        self.remembered: dict[int, list[str]] = {}
        self.cached: set[str] = set()

    def __call__(self):
        return self.busy

    def ask(self, asked):
        assert asked.lane == 3
        self.now += 60e-6
        self.busy += 60e-6
        self.remembered.update(dict(asked.opened))
        paths = asked.paths + [p for key in asked.keys for p in self.remembered.get(key, ())]
        self.asked.append(paths)
        looked, self._told = self._told, len(paths)
        self.cached.update(paths)
        return Said(looked, looked if self.cold else 0, self.waiting) if self.answers else None

    def batch(self, keys, waiting=(), took=0.004, waited=0.02):
        """Returns the seconds that it took."""
        began, self.waiting = self.now, list(waiting)
        given = KeysAhead(keys, self.ahead, 3) if self.ahead.watches() else keys
        seen = []
        for key in given:
            path = self.opens(key)
            if ahead_seen.files is not None:
                ahead_seen.see(path)
            self.now += took
            self.busy += took
            if self.cold and path not in self.cached:
                self.now += waited
            seen.append(key)
        assert seen == list(keys)
        self.ahead.look()
        return self.now - began

    @property
    def said(self):
        return [path for paths in self.asked for path in paths]


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch):
    monkeypatch.setattr(ahead_seen, "_hooked", True)
    yield
    assert ahead_seen.files is None


def test_the_first_batch_already_is_read_ahead():
    lane = Lane()
    lane.batch(range(32))
    assert lane.said == [lane.opens(key) for key in range(5, 32)]


def test_each_key_is_said_once_and_before_it_is_read():
    lane = Lane()
    batches = [list(range(at, at + 32)) for at in range(0, 320, 32)]
    for keys, waiting in zip(batches, [*batches[1:], []], strict=True):
        lane.batch(keys, waiting)
    assert lane.said == [lane.opens(key) for key in range(5, 320)]


def test_keys_that_were_said_to_wait_and_never_come_cost_their_reads_alone():
    lane = Lane()
    lane.batch(range(32), waiting=range(500, 532))
    lane.batch(range(600, 632), waiting=[])
    lane.batch(range(700, 732), waiting=[])
    assert set(lane.said) >= {lane.opens(key) for key in (*range(601, 632), *range(701, 732))}


def test_where_nothing_is_waited_for_nothing_is_said():
    lane = Lane(cold=False)
    for at in range(0, 3200, 32):
        lane.batch(range(at, at + 32))
    assert lane.asked == [] and not ahead_seen.files


def test_where_the_wait_is_for_something_else_it_stops_by_itself():
    """A lock, a network, a timer: the worker finds the files in memory."""
    lane = Lane(cold=False)
    questions = []
    for at in range(0, 64_000, 32):
        keys = [key % 9000 for key in range(at, at + 32)]
        before = len(lane.asked)
        lane.now += 0.5  # before it is marked
        given = KeysAhead(keys, lane.ahead, 3) if lane.ahead.watches() else keys
        for key in given:
            if ahead_seen.files is not None:
                ahead_seen.see(lane.opens(key))
            lane.now += 0.02
        lane.ahead.look()
        questions.append(len(lane.asked) - before)
    assert sum(questions[:40]) > 0
    assert sum(questions[1000:]) < 12, "of a thousand batches"


def test_a_fast_lane_spends_a_hundredth_at_most():
    """Samples of 20 µs, whose files wait all the same: questions cost more than they could save."""
    lane = Lane()
    for at in range(0, 9600, 32):
        lane.batch(range(at, at + 32), took=10e-6, waited=10e-6)
    spent = 60e-6 * len(lane.asked)
    assert spent <= 0.01 * lane.now + 0.002 + 60e-6


def test_wrong_predictions_end():
    lane = Lane()
    lane.batch(range(32))
    said = len(lane.said)
    lane.opens = lambda key: f"/elsewhere/{hash((key, 5))}"
    for at in range(32, 32 * 200, 32):
        lane.batch(range(at, at + 32))
    wrong = len(lane.said) - said
    assert wrong <= 4 * 64 + 8 * 64


def test_files_without_a_rule_are_remembered_for_the_next_epoch():
    lane = Lane()
    lane.opens = lambda key: f"/data/{hash((key, 5)):x}"
    keys = list(range(320))
    first = sum(lane.batch(keys[at : at + 32]) for at in range(0, 320, 32))
    assert len(lane.said) == 0 and len(lane.remembered) > 250
    worker = lane.remembered
    again = Lane()  # a new fork of the program, at the same worker
    again.opens, again.remembered = lane.opens, worker
    keys.reverse()
    second = sum(again.batch(keys[at : at + 32]) for at in range(0, 320, 32))
    assert set(again.said) <= {lane.opens(key) for key in keys}
    assert len(again.said) > 200 and second < 0.5 * first


def test_a_worker_that_does_not_answer_is_left_alone():
    lane = Lane()
    lane.answers = False
    for at in range(0, 3200, 32):
        lane.batch(range(at, at + 32))
    assert 1 <= len(lane.asked) <= 4


def test_relative_paths_are_said_as_this_process_means_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lane = Lane(folder="data")
    lane.batch(range(32))
    assert lane.said[0] == f"{os.getcwd()}/data/{5 * 7}.jpg"


def test_a_kernel_that_counts_no_waits_changes_nothing():
    lane = Lane()
    lane.known = False
    for at in range(0, 320, 32):
        lane.batch(range(at, at + 32))
    assert lane.asked == []


def test_a_sample_that_raises_leaves_nobody_listening():
    lane = Lane()
    lane.batch(range(32))
    assert lane.ahead.watches()
    keys = iter(KeysAhead(range(32, 64), lane.ahead, 3))
    with pytest.raises(ValueError, match="of the program"):
        for _ in keys:
            raise ValueError("of the program")
    del keys
    assert ahead_seen.files is None


def test_rests_grow_and_end_with_the_first_file_that_is_waited_for():
    choice = Choice(0.0)
    rests = []
    for _ in range(7):
        choice.saw(1.0, 1.0)
        assert choice.on
        choice.told(32, 0)
        assert not choice.on
        batches = 0
        while choice.rests:
            choice.begin_batch()
            choice.saw(1.0, 1.0)
            batches += 1
        rests.append(batches)
        choice.begin_batch()
    assert rests == [8, 32, 128, 512, 2048, 4096, 4096]
    choice.saw(1.0, 1.0)
    choice.told(32, 8)
    assert choice.on
    choice.told(32, 0)
    choice.begin_batch()
    assert choice.rests
    assert choice._left == 7
