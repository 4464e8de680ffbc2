"""What libraries decode of bytes in memory: what a lane found is what the library returns of the same bytes."""

import itertools
import os
import random
import time

import numpy as np
import pytest
from headrace.stage import leaves
from headrace.stage.leaf_arrays import FileLeaf
from headrace.stage.leaf_bytes import ByteLeaf, Encoded, key_of_bytes
from headrace.stage.leaf_cost import Worth
from support.leaf_worker import LeafWorker

SEED = 20261129


@pytest.fixture(autouse=True)
def _no_lane():
    yield
    leaves.here = None


@pytest.fixture
def worker():
    return LeafWorker()


def encoded(data, scale=1):
    """What a function of the tests is given: `scale` is its argument."""
    return Encoded(data, repr(scale), type(data) is bytes)


def leaf(**more):
    return ByteLeaf("test", lambda: "build", encoded, **more)


def slow(data, scale=1):
    """A decoder that takes long enough to be worth keeping."""
    end = time.thread_time() + 0.004
    made = np.frombuffer(bytes(data), np.uint8).astype(np.int64) * scale
    while time.thread_time() < end:
        pass
    slow.calls += 1
    return made


slow.calls = 0


def picture(data):
    """As slow, and so large that to keep it takes a twentieth of that."""
    return np.resize(slow(data), 1 << 16)


def call(of, data, *args, read=slow):
    """As functions.Replaced does it."""
    kept = leaves.active()
    wanted = None if kept is None or of.rests(kept) else of.wanted((data, *args), {})
    if wanted is None:
        return read(data, *args)
    found = kept.find(wanted.key)
    return of.make(kept, wanted, read, (data, *args), {}) if found is None else of.found(found)


def test_a_name_is_of_all_bytes_and_of_all_else():
    rng = random.Random(SEED)
    for _ in range(200):
        data = bytearray(rng.randbytes(rng.randint(1, 3000)))
        key = key_of_bytes(data, "form")
        assert key == key_of_bytes(bytes(data), "form") == key_of_bytes(np.array(data), "form")
        at = rng.randrange(len(data))
        data[at] ^= 1 << rng.randrange(8)
        others = key_of_bytes(data, "form"), key_of_bytes(bytes(data) + b"\0", "form")
        assert key not in others and len({key, *others}) == 3
        assert key_of_bytes(data, "another").words[:5] == others[0].words[:5]
        assert key_of_bytes(data, "another") != others[0]


def test_the_next_lane_finds_what_one_has_made_of_the_same_bytes(worker):
    slow.calls, of = 0, leaf()
    for data in (b"123", bytearray(b"123"), np.frombuffer(b"123", np.uint8)):
        worker.lane()
        assert call(of, data).tolist() == [49, 50, 51]
    assert slow.calls == 1
    worker.lane()
    assert (worker.hits, worker.misses) == (2, 1)
    assert call(of, b"123", 2).tolist() == [98, 100, 102] and call(of, b"124")[2] == 52


def test_bytes_that_the_program_writes_into_between_calls_are_others(worker):
    rng, buffer, of = random.Random(SEED), bytearray(64), leaf()
    for step in range(60):
        if step % 12 == 0:
            worker.lane()
        if step % 3:
            buffer[rng.randrange(64)] = rng.randrange(4)
        view = memoryview(buffer)
        assert call(of, view).tolist() == list(buffer), f"seed {SEED} step {step}"


def test_bytes_that_change_while_they_are_decoded_are_not_kept(worker):
    buffer, of = bytearray(b"123"), leaf()

    def meanwhile(data):
        made = slow(data)
        buffer[0] = ord("9")
        return made

    worker.lane()
    assert call(of, buffer, read=meanwhile).tolist() == [49, 50, 51]
    worker.lane()
    assert worker.entries == 0
    assert call(of, b"123").tolist() == [49, 50, 51]


def test_what_is_written_into_a_result_is_the_programs_own(worker):
    slow.calls, of, held = 0, leaf(), []
    for lane in range(4):
        worker.lane()
        made = [call(of, b"123") for _ in range(2)]
        for one in made:
            assert one.tolist() == [49, 50, 51] and one.flags.owndata and one.base is None
            assert one.flags.writeable
            one += lane + 1
            one.resize(5, refcheck=False)
        held += made
    assert slow.calls == 2, "the first lane's two calls"
    leaves.here.end()
    assert [one[0] for one in held] == [50, 50, 51, 51, 52, 52, 53, 53], "over epochs"


def test_errors_come_each_time_and_nothing_is_kept(worker):
    def refuses(data):
        raise ValueError("no picture")

    for _ in range(3):
        worker.lane()
        with pytest.raises(ValueError, match="no picture"):
            call(leaf(), b"123", read=refuses)
    assert worker.entries == 0


def test_what_a_library_writes_to_standard_error_comes_each_time(worker, capfd):
    def loud(data):
        os.write(2, b"a warning of the library\n")
        return slow(data)

    for _ in range(3):
        worker.lane()
        assert call(leaf(quiet=True), b"123", read=loud).tolist() == [49, 50, 51]
    worker.lane()
    assert worker.entries == 0
    assert capfd.readouterr().err.count("a warning of the library") == 3


@pytest.mark.parametrize("way", ["first iteration", "only one", "no room"])
def test_no_name_is_made_where_nothing_can_be_found_or_kept(way):
    worker, asked = LeafWorker(room=0 if way == "no room" else 1 << 30), []
    of = ByteLeaf("test", lambda: "build", lambda data: asked.append(data))
    for _ in range(3):
        worker.lane(first=way == "first iteration", keeps=way != "only one")
        call(of, b"123")
    assert asked == [] and worker.entries == 0


def test_a_lane_keeps_until_it_has_spent_its_part(worker):
    """A clock that goes on by 1 s at each look, so that each entry costs one."""
    cpu = itertools.count()
    of = leaf()
    worker.lane(first=True, again=True, cpu=lambda: float(next(cpu)))
    for number in range(40):
        call(of, b"%d" % number, read=picture)
    worker.lane()
    assert 2 <= worker.entries <= 10
    before = worker.entries
    for number in range(40):
        call(of, b"%d" % number, read=picture)
    worker.lane()
    assert worker.entries == 40 > before, "later all are kept"


def asking():
    """A leaf, and the data that it was asked to name."""
    asked = []

    def form(data):
        asked.append(data)
        return encoded(data)

    return ByteLeaf("test", lambda: "build", form), asked


def test_a_first_iteration_that_keeps_none_names_few(worker):
    """Though there is something to be found, of another program's."""
    of, asked = asking()
    worker.lane()
    call(leaf(), b"something else, so that there is an index")
    worker.lane(first=True)
    for number in range(Worth.LAST + 160):
        call(of, b"%d" % number, read=picture)
    assert len(asked) <= Worth.LAST + 12


@pytest.mark.parametrize("again", [False, True])
def test_what_one_lane_keeps_in_the_first_iteration_the_next_ones_find(worker, again):
    cpu, before = [0.0], slow.calls
    for first in (True, False):
        worker.lane(first=first, again=again, cpu=lambda: cpu[0])
        cpu[0] = 1000.0
        for number in range(3):
            call(leaf(), b"%d" % number, read=picture)
    assert slow.calls - before == (3 if again else 6)


def test_what_was_not_worth_its_keeping_is_named_once_in_a_while(worker):
    of, asked = asking()
    worker.lane()
    call(leaf(), b"something else, so that there is an index")
    worker.lane()
    for number in range(Worth.LAST + 160):
        call(of, b"%d" % number, read=lambda data: np.zeros(9))
    assert len(asked) == Worth.LAST + 10


def test_a_name_that_costs_as_much_as_the_decoding_is_not_worth_it(worker):
    data = bytes(60_000_000)  # tens of milliseconds
    worker.lane()
    call(leaf(), data, read=lambda data: np.zeros(9) if slow(b"1") is not None else None)
    worker.lane()
    assert worker.entries == 0


def test_a_file_and_bytes_never_have_the_same_name(tmp_path):
    """A file of the right numbers is not its own digest."""
    path = tmp_path / "a"
    path.write_bytes(b"123")
    of_file = FileLeaf("test", lambda: "build", lambda scale: repr(scale)).wanted(
        (str(path), 1), {}
    )
    of_bytes = leaf().wanted((b"123",), {})
    assert of_file.key.words[5:] != of_bytes.key.words[5:], "the forms differ"
