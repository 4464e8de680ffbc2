"""Ahead of the code: what a lane says to its worker, when, and when it stops. On a clock of the test's own."""

import os
import struct
import subprocess
import sys

import pytest
from headrace.process import object_reads
from headrace.stage import ahead_seen
from headrace.stage.ahead import Ahead, KeysAhead
from headrace.stage.ahead_choice import Choice
from headrace.stage.ahead_door import AHEAD, AheadDoor, Question, Said
from headrace.stage.leaf_door import NO_STORE
from headrace.stage.object_reads import Door, question
from support.object_worker import UNSUPPORTED, Worker, serving


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
        self.watched = 0

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
        watches = self.ahead.watches()
        self.watched += watches
        given = KeysAhead(keys, self.ahead, 3) if watches else keys
        seen = []
        for key in given:
            path = self.opens(key)
            if path is not None and ahead_seen.files is not None:
                ahead_seen.see(path)
            self.now += took
            self.busy += took
            if self.cold and path not in self.cached:
                self.now += waited
            seen.append(key)
        assert seen == list(keys)
        self.ahead.look(at_end=True)
        return self.now - began

    @property
    def said(self):
        return [path for paths in self.asked for path in paths]


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch):
    monkeypatch.setattr(ahead_seen, "_hooked", True)
    yield
    assert ahead_seen.files is None


def test_short_batches_are_looked_at_now_and_then():
    lane = Lane(cold=False)
    looks = []
    lane.ahead._busy = type(
        "Looks", (), {"known": True, "__call__": lambda self: looks.append(1) or lane.busy}
    )()
    for at in range(0, 8000, 8):
        lane.batch(range(at, at + 8), took=20e-6)
    assert 2 * 8 <= len(looks) <= 2 * (1000 // 16 + 16)


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


def test_what_passes_between_batches_is_no_waiting():
    lane = Lane(cold=False)
    for at in range(0, 320, 32):
        lane.batch(range(at, at + 32))
        lane.now += 5.0  # for its worker
        lane.ahead.look(at_end=True)  # of a batch whose keys nobody knows
    assert lane.asked == []


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
        lane.ahead.look(at_end=True)
        questions.append(len(lane.asked) - before)
    assert sum(questions[:40]) > 0
    assert sum(questions[1000:]) < 12, "of a thousand batches"


def test_samples_that_open_no_file_are_left_alone():
    """A wait on a busy host looks like one for a file. To look at each sample takes 5 µs."""
    lane = Lane()
    lane.opens = lambda key: None
    for at in range(0, 3200, 32):
        lane.batch(range(at, at + 32))
    assert lane.asked == []
    assert lane.watched <= 6, "batches, of a hundred"
    lane.opens = lambda key: f"/data/{key * 7}.jpg"
    for at in range(3200, 9600, 32):
        lane.batch(range(at, at + 32))
    assert lane.said, "a file that is waited for ends it"


def test_a_fast_lane_spends_a_hundredth_at_most():
    """Samples of 40 µs, whose files wait all the same: questions cost more than they could save."""
    lane = Lane()
    for at in range(0, 9600, 64):
        lane.batch(range(at, at + 64), took=20e-6, waited=20e-6)
    spent = 60e-6 * len(lane.asked)
    assert lane.asked
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


class Answering(Worker):
    """Tells of 5 files that it has read, and that keys 8 and 9 wait."""

    def answer(self, ask):
        self.asks.append(ask)
        if ask.name.startswith("/forbidden"):
            return UNSUPPORTED, 0, 0, "files are read ahead for lanes of this host", b""
        return 0, 0, 5, "", struct.pack("<2q", 8, 9)


def test_the_question_as_the_worker_reads_it():
    with serving(Answering({})) as worker:
        object_reads.by = Door(os.dup(worker.door), may_read=True)
        try:
            door = AheadDoor()
            said = door.ask(Question(3, ["/a", "/b c"], [4, -1], [(7, ["/x", "/y"]), (6, [])]))
            assert said == Said(5, 0, [8, 9])
            (asked,) = worker.asks
            assert (asked.what, asked.first, asked.name) == (AHEAD, 3, "/a\0/b c\0")
            assert (asked.version, asked.token) == ("4,-1", "7\0/x\0/y\0\0" + "6\0\0")
            assert door.ask(Question(3, ["/forbidden"], [], [])) is None
            assert door.ask(Question(3, ["/a"], [], [])) is None
            assert len(worker.asks) == 2, "who refused once is not asked again"
        finally:
            object_reads.by.close()
            object_reads.by = None


def test_without_a_worker_nothing_is_asked():
    assert AheadDoor().ask(Question(0, ["/a"], [], [])) is None


def test_names_that_are_no_text_are_said_as_the_bytes_that_they_are():
    name = os.fsdecode(b"/data/\xff.jpg")
    frame = question(AHEAD, NO_STORE, f"{name}\0")
    assert b"/data/\xff.jpg\0" in frame


def test_only_what_is_read_is_seen(tmp_path):
    """In a process of its own: a hook for audit events stays."""
    (tmp_path / "read").write_text("x")
    code = f"""
import os
from headrace.stage import ahead_seen
ahead_seen.listen()
ahead_seen.files = seen = set()
open({str(tmp_path / "read")!r}).close()
os.close(os.open({str(tmp_path / "read")!r}, os.O_RDONLY))
open({str(tmp_path / "written")!r}, "w").close()
open("/proc/self/stat").close()
os.fdopen(os.open({str(tmp_path / "both")!r}, os.O_RDWR | os.O_CREAT)).close()
ahead_seen.files = None
open({str(tmp_path / "written")!r}).close()
print(sorted(seen))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([str(tmp_path / "read")])
