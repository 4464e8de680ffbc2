"""Pictures that are decoded ahead of a lane: when it asks, what it says, what it takes, and what ends it."""

import itertools
import os
import struct

import pytest
from headrace.process import object_reads
from headrace.stage import ahead_decoding, ahead_pictures, ahead_seen
from headrace.stage.ahead import Ahead, KeysAhead
from headrace.stage.ahead_decode_choice import DecodeChoice
from headrace.stage.ahead_decoding import DECODE, DecodedAhead, DecodeDoor, Question, Said
from headrace.stage.ahead_pictures import BGR, PIL, Pictures, Row
from headrace.stage.leaf_keys import Content
from headrace.stage.object_reads import Door
from support.object_worker import UNSUPPORTED, Worker, serving


def row(number, content, offset=0, size=(2, 3), took_ns=5_000_000, decoded_as=PIL):
    height, width = size
    return Row(number, *content, offset, 3 * height * width, width, height, took_ns, decoded_as)


def content(number):
    return Content(1, number, 100, 5, 6)


@pytest.fixture(autouse=True)
def _nobody_listens(monkeypatch):
    monkeypatch.setattr(ahead_seen, "_hooked", True)
    monkeypatch.setattr(ahead_pictures, "here", None)
    yield
    assert ahead_seen.files is None


class Held:
    def __init__(self, names):
        self.names = names


class Lane:
    """A lane whose samples decode one picture each, and a worker that decodes ahead what it is told, at once."""

    def __init__(self, cores=1, decode=0.005, rest=0.001):
        self.now = 0.0
        self.known = True
        self.cores, self.decode, self.rest = cores, decode, rest
        self.asked: list[Question] = []
        self.waiting: list[int] = []
        self.hits = self.decoded = 0
        self.is_part = False
        self.opens = lambda key: f"/data/{key * 7}.jpg"
        self.pictures = Pictures()
        ahead_pictures.here = self.pictures
        clock = lambda: self.now  # noqa: E731
        self.decoding = DecodedAhead(self.pictures, self.ask, clock, clock)
        dataset = Held([f"{key * 7}.jpg" for key in range(10_000)])
        self.ahead = Ahead(dataset, lambda asked: None, clock, self, self.decoding)
        self.ready: list[tuple[int, str]] = []
        self.answers = True
        self.memory = memoryview(bytes(64))

    def __call__(self):
        return self.now  # it never waits

    def ask(self, asked):
        self.asked.append(asked)
        self.now += 100e-6
        if not self.answers:
            return None
        ready, self.ready = self.ready, []
        for number, paths in asked.coming:
            if self.cores and number >= asked.number + 8:
                self.ready += [(number, path) for path in paths]
        rows = [row(number, self.content(path)) for number, path in ready]
        return Said(self.cores, self.waiting, rows, self.memory if asked.wants_memory else None)

    def content(self, path):
        return Content(1, hash(path) % 10**9, 1, 2, 3)

    def batch(self, keys, waiting=()):
        self.waiting = list(waiting)
        given = KeysAhead(keys, self.ahead, 3) if self.ahead.watches() else keys
        for key in given:
            path = self.opens(key)
            if ahead_seen.files is not None:
                ahead_seen.see(path)
            taken = self.pictures.take(self.content(path), PIL, (2, 3, 3))
            if taken is None:
                self.now += self.decode
                self.decoded += 1
                self.pictures.note(PIL, self.decode, self.is_part)
            else:
                self.hits += 1
            self.now += self.rest
        self.ahead.look(at_end=True)

    def run(self, batches, size=32):
        all_keys = [list(range(at, at + size)) for at in range(0, batches * size, size)]
        for keys, waiting in zip(all_keys, [*all_keys[1:], []], strict=True):
            self.batch(keys, waiting)

    @property
    def said(self):
        return [one for asked in self.asked for one in asked.coming]


def test_the_first_batch_already_is_decoded_ahead():
    lane = Lane()
    lane.run(1)
    assert lane.asked[0].number <= 8 and lane.asked[0].wants_memory
    assert lane.hits > 0


def test_each_sample_is_said_once_by_its_own_number():
    lane = Lane()
    lane.run(20)
    numbers = [number for number, _ in lane.said]
    assert numbers == list(range(numbers[0], 640))
    assert [paths for _, paths in lane.said] == [[lane.opens(number)] for number in numbers]
    assert lane.hits > 0.85 * 640
    assert all(
        0 < b.number - a.number <= 7 for a, b in zip(lane.asked, lane.asked[1:], strict=False)
    )


def test_after_keys_that_never_come_numbers_go_on():
    lane = Lane()
    lane.batch(range(32), waiting=range(500, 532))
    lane.batch(range(600, 632), waiting=range(632, 664))
    lane.batch(range(632, 664))
    by_number = {}
    for number, paths in lane.said:
        assert by_number.setdefault(number, paths) == paths
    assert lane.hits > 10


@pytest.mark.parametrize(
    "lane",
    [Lane(decode=0.0005, rest=0.0001), Lane(decode=0.005, rest=0.05)],
    ids=["small pictures", "little decoding"],
)
def test_where_it_does_not_pay_nothing_is_said(lane):
    lane.run(40)
    assert lane.asked == []


def test_where_parts_of_pictures_are_wanted_nothing_is_said():
    lane = Lane()
    lane.is_part = True
    lane.run(40)
    assert lane.asked == []


def test_where_no_core_idles_it_stops_to_ask():
    lane = Lane(cores=0)
    lane.run(400)
    assert 8 <= len(lane.asked) < 8 * 6
    assert lane.hits == 0


def test_where_what_came_is_not_opened_it_ends_by_itself():
    lane = Lane()
    states = itertools.count()
    lane.content = lambda path: Content(1, next(states), 1, 2, 3)  # it is always rewritten
    lane.run(400)
    assert lane.hits == 0
    assert len(lane.said) < 400 * 32 / 10


def test_a_lane_that_rests_has_no_memory_and_asks_for_it_again():
    lane = Lane()
    lane.run(2)
    assert lane.pictures.has_memory
    lane.decoding._choice.rest()
    lane.batch(range(64, 96))
    assert not lane.pictures.has_memory
    before = len(lane.asked)
    lane.run(12)
    assert [asked.wants_memory for asked in lane.asked[before:]][:2] == [True, False]
    assert lane.pictures.has_memory


def test_a_worker_that_does_not_answer_is_left_alone():
    lane = Lane()
    lane.answers = False
    lane.run(100)
    assert len(lane.asked) == 1


def test_questions_cost_a_fiftieth_at_most():
    lane = Lane(decode=0.0016, rest=0.0)
    real = lane.ask
    spent = []

    def slow(asked):
        lane.now += 0.002
        spent.append(0.0021)
        return real(asked)

    lane.decoding._ask = slow
    lane.run(100)
    assert 0 < sum(spent) <= 0.02 * lane.now + 0.005 + 0.0021


def test_one_difference_ends_it(capfd):
    lane = Lane()
    lane.run(4)
    before = len(lane.asked)
    lane.pictures.differ("PIL")
    hits = lane.hits
    lane.run(40)
    assert (len(lane.asked), lane.hits) == (before, hits)
    assert capfd.readouterr().err.count("other bits than PIL gives here") == 1


def test_as_many_lanes_as_cores_decode_nothing_ahead(monkeypatch):
    class Info:
        num_workers = 2

    import torch.utils.data

    monkeypatch.setattr(torch.utils.data, "get_worker_info", lambda: Info)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert ahead_decoding.of_lane() is None and ahead_pictures.here is None
    Info.num_workers = 1
    assert ahead_decoding.of_lane() is not None and ahead_pictures.here is not None
    monkeypatch.setattr(torch.utils.data, "get_worker_info", lambda: None)
    assert ahead_decoding.of_lane() is None and ahead_pictures.here is None


def test_rests_grow_and_one_use_begins_anew():
    choice = DecodeChoice(0.0)
    rests = []
    for _ in range(6):
        choice.saw(4, 0.02, 0, 0.03)
        assert choice.on
        choice.passed(23, 9)
        assert not choice.on
        batches = 0
        while not choice.on:
            choice.begin_batch()
            choice.saw(4, 0.02, 0, 0.03)
            batches += 1
        rests.append(batches)
    assert rests == [8, 32, 128, 512, 2048, 4096]
    choice.passed(24, 8)
    assert choice.on
    choice.passed(0, 32)
    assert choice._left == 8
    choice.end()
    for _ in range(20):
        choice.begin_batch()
        choice.saw(4, 0.02, 0, 0.03)
    assert not choice.on


# The question.


class Decoding(Worker):
    """Tells of two waiting keys and one picture."""

    def answer(self, ask):
        self.asks.append(ask)
        if ask.first == 9:
            return UNSUPPORTED, 0, 0, "pictures are decoded ahead for lanes of this host", b""
        told = row(40, content(1), 64)
        return 0, 0, 3, "", struct.pack("<3q", 2, 8, 9) + struct.pack("<12Q", *told)


def test_the_question_as_the_worker_reads_it():
    with serving(Decoding({})) as worker:
        object_reads.by = Door(os.dup(worker.door), may_read=True)
        try:
            door = DecodeDoor(lambda: None)
            said = door.ask(Question(3, 17, BGR, False, [(20, ["/a", "/b c"]), (21, [])]))
            assert said == Said(3, [8, 9], [row(40, content(1), 64)], None)
            door.ask(Question(3, 23, BGR, False, []))
            first, second = worker.asks
            assert (first.what, first.first, first.name) == (DECODE, 3, "")
            assert first.version == "17,3,1", "a worker that it has not asked before"
            assert first.token == "20\0/a\0/b c\0\0" + "21\0\0"
            assert (second.version, second.token) == ("23,3,0", "")
            assert door.ask(Question(9, 23, BGR, False, [])) is None
            assert door.ask(Question(3, 23, BGR, False, [])) is None
            assert len(worker.asks) == 3, "who refused once is not asked again"
        finally:
            object_reads.by.close()
            object_reads.by = None


def test_before_another_worker_is_asked_nothing_is_left_of_the_one_before():
    pictures = Pictures()
    door = DecodeDoor(pictures.leave)
    asked = Question(3, 17, PIL, False, [])
    here = []  # whether there was anything left when a worker was asked

    class Looking(Decoding):
        def answer(self, ask):
            here.append(
                (pictures.has_memory, pictures.take(content(1), PIL, (2, 3, 3)) is not None)
            )
            return super().answer(ask)

    with serving(Looking({})) as one, serving(Looking({})) as two:
        doors = [Door(os.dup(worker.door), may_read=True) for worker in (one, two)]
        try:
            for by in (doors[0], doors[0], doors[1], doors[0]):
                object_reads.by = by
                assert door.ask(asked) is not None
                pictures.share(memoryview(bytes(64)))
                pictures.add([row(40, content(1))])
            assert here == [(False, False), (True, True), (False, False), (False, False)]
            assert [ask.version for ask in one.asks] == ["17,1,1", "17,1,0", "17,1,1"]
            assert [ask.version for ask in two.asks] == ["17,1,1"]
        finally:
            object_reads.by = None
            for by in doors:
                by.close()
