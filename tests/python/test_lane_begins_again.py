"""A lane whose code was seen to keep state begins again: as it was before its first batch."""

import multiprocessing
import os
import pickle
import queue
import socket
import sys
from contextlib import closing

import pytest
from headrace.stage import wire
from headrace.stage.lane import LanePort, lane_main
from headrace.stage.redo import Redo, is_damaged
from headrace.stage.wire import numbers
from support.batch_request import packed_request, send_request
from support.lane_settings import settings

DAMAGED = b"a picture"
SAID = ["begins", "batch 0", "batch 1", "batch 2", "with its picture"]


def loop(index_queue, data_queue, done_event, dataset, collate_fn):
    """A worker loop whose data set counts its batches."""
    while not done_event.is_set():
        try:
            item = index_queue.get(1)
        except queue.Empty:
            continue
        if item is not None:
            dataset.append(item[1])
            data_queue.put((item[0], [len(dataset)]))


class Lane:
    """Its process, and the data workers that ask it."""

    def __init__(self, watched, **changed):
        self.control, theirs = socket.socketpair()
        arguments = {"dataset": [], "collate_fn": list}
        self.process = multiprocessing.get_context("fork").Process(
            target=lane_main,
            args=(loop, arguments, LanePort(theirs, settings(watched=watched, **changed))),
        )
        self.process.start()
        theirs.close()
        self.workers = []

    def connect(self, life):
        ours, theirs = socket.socketpair()
        ours.settimeout(60)
        socket.send_fds(self.control, [numbers(life)], [theirs.fileno()])
        theirs.close()
        self.workers.append(ours)
        return ours

    def close(self):
        self.control.shutdown(socket.SHUT_RDWR)  # its process has inherited our side
        for each in (self.control, *self.workers):
            each.close()
        self.process.join(60)
        assert self.process.exitcode == 0
        self.process.close()


def send(worker, number, iteration=1):
    request = packed_request([number], 4096, iteration=iteration, batch=number)
    send_request(worker, request, numbers(9), numbers(0))


def receive(worker):
    kind, answer, _ = wire.receive(worker)
    assert kind == wire.DONE and len(answer) == 14
    return answer


def ask(worker, number, iteration=1):
    """(how many batches the process has made, what it was seen to keep)"""
    send(worker, number, iteration)
    answer = receive(worker)
    return pickle.loads(answer[3]), answer[13].decode()


def outcome(worker, number, iteration=1):
    send(worker, number, iteration)
    return receive(worker)[1]


@pytest.fixture
def lane():
    lane = Lane(watched=False)
    yield lane
    lane.close()


def test_it_is_as_before_its_first_batch_and_serves_old_connections_no_more(lane):
    first = lane.connect(0)
    assert ask(first, 0) == ([1], "dataset had 0 items and has 1")
    assert ask(first, 1) == ([2], ""), "it is told once"
    again = lane.connect(1)
    assert ask(again, 0)[0] == [1]
    assert ask(again, 1)[0] == [2]
    with pytest.raises(EOFError):
        wire.receive(first)
    other = lane.connect(1)  # another data worker
    assert ask(other, 2)[0] == [3]


def test_it_may_begin_again_more_than_once(lane):
    for life in range(3):
        worker = lane.connect(life)
        assert ask(worker, 0)[0] == [1]
        assert ask(worker, 1)[0] == [2]


def test_a_lane_that_may_not_move_is_not_watched():
    lane = Lane(watched=None)
    assert ask(lane.connect(0), 0) == ([1], "")
    lane.close()


def test_code_with_state_makes_no_batch_again_that_the_lane_has_passed():
    """A data worker that stood still hands on what another one was asked for meanwhile."""
    with closing(Lane(watched=None)) as lane:
        slow, quick = lane.connect(0), lane.connect(0)
        assert ask(quick, 0)[0] == [1]
        assert ask(slow, 0)[0] == [1], "the same batch, because its answer may be lost"
        assert ask(quick, 2)[0] == [2]
        assert outcome(slow, 0) == numbers(wire.PASSED)
        assert ask(quick, 4)[0] == [3]
        assert ask(quick, 1, iteration=2)[0] == [4], "another iteration, which begins anew"
        assert outcome(slow, 6, iteration=1) == numbers(wire.PASSED)
        assert ask(quick, 2, iteration=2)[0] == [5]


@pytest.fixture
def no_pictures(monkeypatch):
    """For which lanes have a checkpoint, too."""
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def test_a_lane_that_gives_results_may_begin_again_once_and_makes_no_batch_again_unasked(
    no_pictures,
):
    with closing(Lane(watched=None, gives=True)) as lane:
        slow, quick = lane.connect(0), lane.connect(0)
        assert ask(quick, 0) == ([1], "")
        assert ask(quick, 1) == ([2], "")
        assert outcome(slow, 0) == numbers(wire.PASSED), "its code may keep state"
        assert len(children_of(lane.process.pid)) == 1, "as it was before its first batch"
        again = lane.connect(1)
        assert ask(again, 0)[0] == [1]
        assert ask(again, 1)[0] == [2]
        (life,) = children_of(lane.process.pid)
        assert children_of(life) == [], "it gives nothing any more, and needs no other"


@pytest.mark.parametrize("hook", ["around_forks", "in_children"])
def test_without_a_checkpoint_no_results_are_given(no_pictures, monkeypatch, hook):
    monkeypatch.setattr(f"headrace.process.fork_hooks.{hook}", lambda: "the program's")
    with closing(Lane(watched=None, gives=True)) as lane:
        assert ask(lane.connect(0), 0) == ([1], "")
        assert children_of(lane.process.pid) == []


def test_a_lane_that_gives_nothing_has_no_checkpoint(no_pictures):
    with closing(Lane(watched=None)) as lane:
        assert ask(lane.connect(0), 0) == ([1], "")
        assert children_of(lane.process.pid) == []


def printing(path, looped, **changed):
    """A lane whose standard output is a file."""

    def into_file():
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND), 1)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        lane_main(looped, arguments, port)
        sys.stdout.flush()

    control, theirs = socket.socketpair()
    arguments = {"dataset": [], "collate_fn": list}
    port = LanePort(theirs, settings(watched=None, gives=True, **changed))
    lane = Lane.__new__(Lane)
    lane.control, lane.workers = control, []
    lane.process = multiprocessing.get_context("fork").Process(target=into_file)
    lane.process.start()
    theirs.close()
    return closing(lane)


def prints(index_queue, data_queue, done_event, dataset, collate_fn):
    print("begins", flush=True)

    class Queue:
        def get(self, timeout):
            item = index_queue.get(timeout)
            if item is not None:
                print("batch", item[0])
                if item[0] == 2 and not is_damaged(DAMAGED):
                    raise Redo(DAMAGED)
                if item[0] == 2:
                    print("with its picture")
            return item

    loop(Queue(), data_queue, done_event, dataset, collate_fn)


def test_what_was_printed_is_not_printed_again(tmp_path, monkeypatch):
    """Nor what it prints before its first batch; what is new is."""
    monkeypatch.setattr(f"{__name__}.DAMAGED", b"")
    monkeypatch.setattr("headrace.stage.redo._known", {0: {0}})
    with printing(tmp_path / "said", prints) as lane:
        first = lane.connect(0)
        assert [ask(first, n)[0] for n in (0, 1)] == [[1], [2]]
        again = lane.connect(1)
        assert [ask(again, n)[0] for n in (0, 1, 2)] == [[1], [2], [3]]
    assert (tmp_path / "said").read_text().splitlines() == SAID


def test_what_was_printed_before_a_damaged_picture_is_printed_once(tmp_path):
    pytest.importorskip("PIL.Image")  # a lane whose program has it may defer pictures
    with printing(tmp_path / "said", prints) as lane:
        worker = lane.connect(0)
        assert [ask(worker, n)[0] for n in (0, 1, 2)] == [[1], [2], [3]]
    assert (tmp_path / "said").read_text().splitlines() == SAID
