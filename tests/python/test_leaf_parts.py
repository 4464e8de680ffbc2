"""What leaves are made of: arrays as entries, names of contents, and what is worth keeping."""

import itertools
import os
import random
import time

import numpy as np
import pytest
from headrace.process import began
from headrace.stage import functions, leaf_cost, leaf_keys, leaves
from headrace.stage.leaf_arrays import FileLeaf, packed, unpacked
from headrace.stage.leaf_cost import Worth
from headrace.stage.leaf_keys import Content, content_at, form_of, key_of
from support.leaf_worker import LeafWorker

SEED = 20261129


def lies(array, how):
    """The same numbers, laid out in another way."""
    if how == 1:
        return np.asfortranarray(array)
    if how == 2:
        return array.T
    if how == 3:
        return np.asfortranarray(array)[...]
    if how == 4:
        kind = array.dtype.newbyteorder("<")
        return np.ndarray(array.shape, kind, bytearray(array.tobytes()), order="F")
    return array


def test_any_array_comes_back_as_it_was():
    rng = random.Random(SEED)
    kinds = ("?", "u1", "i2", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "g")
    for case in range(300):
        shape = tuple(rng.randint(1, 5) for _ in range(rng.randrange(4)))
        data = np.frombuffer(rng.randbytes(16 * 125), np.uint8)
        array = np.resize(data, np.dtype(kinds[case % len(kinds)]).itemsize * int(np.prod(shape)))
        array = array.view(kinds[case % len(kinds)]).reshape(shape).copy()
        if rng.random() < 0.3:
            array = array.reshape(-1).copy().reshape(shape)  # a view of all of another array
        array = lies(array, rng.randrange(5))
        parts = packed(array, case)
        if parts is None:
            assert array.flags.forc and 1 in array.shape, "NumPy would make it with other steps"
            continue
        made, more = unpacked(memoryview(b"".join(map(bytes, parts))))
        assert more == case
        assert (made.dtype, made.shape, made.strides) == (array.dtype, array.shape, array.strides)
        assert made.tobytes() == array.tobytes(), f"seed {SEED} case {case}"
        assert made.dtype.byteorder == array.dtype.byteorder
        assert type(made.base) is type(array.base)
        if type(made.base) is np.ndarray:
            assert made.base.shape == array.base.shape and made.base.strides == array.base.strides
        assert repr(made.flags) == repr(array.flags)


@pytest.mark.parametrize(
    "value",
    [
        np.ma.masked_array([1.0]),
        np.array(["a"]),
        np.array([None]),
        np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")]),
        np.array([1.0]).astype(">f8"),
        np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
        np.zeros(3, np.dtype("i1", metadata={"enum": {"no": 0}})),
        np.frombuffer(bytearray(8), np.uint8, 4),
        np.arange(6.0)[::2],
        np.arange(6.0)[1:],
        np.empty(0),
        np.broadcast_to(np.array([1.0]), (3,)),
        np.frombuffer(b"12345678"),
        [1.0],
        None,
    ],
    ids=str,
)
def test_what_is_more_than_a_plain_array_is_not_kept(value):
    assert packed(value) is None


def test_an_identity_is_that_of_the_whole_state(tmp_path):
    (tmp_path / "a").write_text("1")
    content = content_at(tmp_path / "a")
    keys = {key_of(content, form_of("x")), key_of(content, form_of("y"))}
    for field in Content._fields:
        keys.add(key_of(content._replace(**{field: getattr(content, field) + 1}), form_of("x")))
    assert len(keys) == 2 + len(Content._fields)
    assert key_of(content, form_of("x")) in keys
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", "a\0b", b"x" * 10, 7.5, None):
        assert content_at(path) is None


def test_what_is_worth_keeping():
    assert leaf_cost.is_worth(0.050, 1 << 20, first=True), "a text of numbers"
    assert leaf_cost.is_worth(0.003, 1 << 20, first=False), "a photograph"
    assert not leaf_cost.is_worth(0.003, 1 << 20, first=True)
    assert not leaf_cost.is_worth(0.0004, 1 << 20, first=False), "a copy"
    assert not leaf_cost.is_worth(20e-6, 10, first=False), "a small file"
    assert not leaf_cost.is_worth(90e-6, 10, first=False), "a word"
    assert leaf_cost.is_worth(250e-6, 10, first=False)


def test_small_ones_are_not_kept_because_something_came_between():
    """Of words that take 40 µs some take 300 now and then. One that is larger takes longer by itself."""
    worth = leaf_cost.Worth()
    size = 4500
    took = [40e-6, 300e-6, 45e-6, 41e-6, *([40e-6] * 5 + [300e-6]) * 20]
    takes = [worth.undisturbed(seconds, size) for seconds in took]
    assert not any(leaf_cost.is_worth(seconds, size, first=False) for seconds in takes)
    assert leaf_cost.is_worth(worth.undisturbed(300e-6, 7 * size), 7 * size, first=False)
    assert leaf_cost.is_worth(worth.undisturbed(3e-3, size), size, first=False)


def test_nobody_knows_what_the_first_small_ones_take():
    worth = leaf_cost.Worth()
    assert [worth.undisturbed(300e-6, 1000) for _ in range(3)] == [0.0] * 3
    assert worth.undisturbed(300e-6, 1000) == pytest.approx(300e-6)
    assert leaf_cost.Worth().undisturbed(500e-6, 1000) == pytest.approx(500e-6), "long enough"


def test_what_is_named_for_the_first_time_in_a_process_is_no_reason_to_keep_none():
    """Faces of 240 x 240: decoded in 350 µs, named in 35, but the first of each lane in 450."""
    worth, size = leaf_cost.Worth(), 240 * 240 * 3
    saved = [worth.undisturbed(350e-6, size, naming) for naming in (450e-6, *[35e-6] * 6)]
    assert saved[:3] == [0.0] * 3 and saved[3:] == [pytest.approx(280e-6)] * 4
    assert leaf_cost.is_worth(saved[3], size, first=False)
    long = leaf_cost.Worth()
    assert long.undisturbed(900e-6, size, 300e-6) == 0.0, "not known yet"
    assert long.undisturbed(900e-6, size, 30e-6) == pytest.approx(840e-6)
    dear = leaf_cost.Worth()
    assert max(dear.undisturbed(350e-6, size, 200e-6) for _ in range(9)) <= 0


def test_segments_and_looks():
    rng = random.Random(SEED)
    for _ in range(1000):
        room, least = (
            rng.randrange(1 << rng.randrange(1, 40)),
            rng.randrange(1 << rng.randrange(1, 28)),
        )
        got = leaf_cost.segment_bytes(room, least)
        assert got == 0 or least <= got <= room
    assert [n for n in range(1, 200) if leaf_cost.looks_again(n)] == [1, 2, 8, 32, 128]


def test_a_function_that_is_not_worth_it_is_left_alone():
    worth = leaf_cost.Worth()
    assert all(worth.is_likely() for _ in range(100))
    for _ in range(8):
        worth.note(False)
    assert sum(worth.is_likely() for _ in range(160)) == 10, "but looked at now and then"
    worth.note(True)
    assert worth.is_likely()


def test_a_long_epoch_tells_of_its_lookups_every_few_seconds():
    """Policies weigh leaves by them; the questions at batches 128, 512 and so on come too late for that."""
    worker, now = LeafWorker(), [0.0]
    kept = leaves.Leaves(False, True, lambda: worker, lambda: now[0])
    for _ in range(9):
        kept.begin()
        assert kept.active
        kept.missed()
    asked, told = worker.asked, worker.misses
    kept.begin()
    assert (worker.asked, worker.misses) == (asked, told), "nothing is asked in between"
    now[0] += 2.1
    kept.begin()
    assert (worker.asked, worker.misses) == (asked + 1, 9)
    now[0] += 2.1
    kept.begin()
    assert worker.asked == asked + 1, "there is nothing to tell"


def test_what_the_worker_has_given_up_is_kept_again_in_the_next_iteration():
    """By the same process, too (persistent_workers=True): a quota that shrinks may grow again."""
    worker = LeafWorker()
    lane, key = worker.lane(), key_of(Content(1, 2, 3, 4, 5), form_of("what was made"))

    def made():
        return lane.find(key) is None and lane.offer(key, 0, 10**12, (b"pixels",), 1.0)

    assert made() and made(), "a second view of it"
    lane.begin(again=True)
    assert not made() and worker.entries == 1
    worker.segments.clear()
    lane.begin(again=True)
    assert made()
    lane.begin(again=True)
    assert not made() and worker.entries == 1
    leaves.here = None


def test_forks_have_the_libraries_files_and_ask_for_their_own_environment():
    build = leaf_keys.build_of("numpy")
    misses = leaf_keys.files_of.cache_info().misses
    pid = os.fork()
    if pid == 0:
        os.environ["OPENCV_IO_OF_A_TEST"] = "1"
        differs = leaf_keys.build_of("numpy") != build
        os._exit(0 if differs and leaf_keys.files_of.cache_info().misses == misses else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_who_forks_lanes_looks_for_the_libraries_files(monkeypatch):
    monkeypatch.setattr(leaves, "possible", True)
    leaf_keys.files_of.cache_clear()
    leaf_keys.build_of.cache_clear()
    functions.prepare()
    assert leaf_keys.files_of.cache_info().currsize > 0


def parts_kept(names, parts, iterations, per_iteration=200):
    """How many of the parts that a program reads are kept in each iteration. `names`: gives the next part's."""
    there, counts = set(), []
    for iteration in range(iterations):
        new = set()
        for _ in range(per_iteration):
            tag = names()
            if not parts.are_looked_for(tag):
                continue
            if tag in there:
                parts.found()
            elif parts.missed(tag, iteration):
                parts.kept(iteration)
                new.add(tag)
        there |= new
        counts.append(len(new))
    return counts


def test_parts_that_never_come_again_are_kept_for_a_while_and_few():
    rng, parts = random.Random(SEED), leaf_cost.Parts()
    counts = parts_kept(lambda: rng.getrandbits(64), parts, 12)
    assert 0 < sum(counts) < 200 * 12 / 8 and counts[-1] == 0, counts
    assert parts.known == parts.NEVER and not parts.are_looked_for(0)


def test_parts_that_come_again_are_all_kept():
    rng, parts, asked = random.Random(SEED), leaf_cost.Parts(), itertools.count()
    tags = [rng.getrandbits(64) for _ in range(200)]
    counts = parts_kept(lambda: tags[next(asked) % 200], parts, 4)
    assert 5 < counts[0] < 60 and sum(counts) == 200 and counts[3] == 0, counts


def test_what_one_lane_knows_of_parts_the_next_one_does():
    parts = leaf_cost.Parts()
    assert parts.know(parts.KEPT) and not parts.know(parts.UNKNOWN)
    for _ in range(parts.TRIES):
        parts.missed(0, 0)
    assert parts.known == parts.NEVER
    assert parts.know(parts.AGAIN) and parts.are_looked_for(1), "another one has found some"
    assert not parts.know(parts.NEVER)


def test_the_program_began_before_now_and_a_file_of_now_is_younger(tmp_path):
    assert 0 < began.ns <= time.time_ns()
    path = tmp_path / "a"
    path.write_text("1")
    with open(path, "rb") as file:
        assert leaf_keys.opened_before(file.fileno()) is None
    with open("/proc/self/exe", "rb") as file:
        assert leaf_keys.opened_before(file.fileno()) == content_at("/proc/self/exe")


def test_what_was_too_dear_to_keep_in_the_first_iteration_alone_is_kept_in_the_next(
    tmp_path, monkeypatch
):
    """From its first call on: a short epoch has no sixteen."""
    worker, path = LeafWorker(), str(tmp_path / "a")
    of = FileLeaf("slow", lambda: "build", lambda: "")
    np.savetxt(path, np.ones(3))
    monkeypatch.setattr(leaf_cost, "is_worth", lambda seconds, size, first: not first)
    kept = worker.lane(first=True)
    for _ in range(Worth.LAST):
        assert not of.rests(kept)
        of.make(kept, of.wanted((path,), {}), np.loadtxt, (path,), {})
    assert of.rests(kept), "what is not kept now is not looked at"
    assert not of.rests(worker.lane()) and of.worth.poor == 0
    leaves.here = None
