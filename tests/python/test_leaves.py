"""Leaves of lanes: what one has read and decoded, the next one finds, with the bits, the type and the memory of a
new result; and whatever may not be kept is not."""

import os
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from headrace.stage import leaves
from headrace.stage.leaf_arrays import FileLeaf, packed
from headrace.stage.leaf_cost import Worth
from headrace.stage.leaf_door import PATIENCE
from headrace.stage.leaf_keys import STEP_NS
from support.leaf_worker import LeafWorker
from support.own_process import in_own_process

SEED = 20261129


@pytest.fixture(autouse=True)
def _no_lane():
    yield
    leaves.here = None


@pytest.fixture
def worker():
    return LeafWorker()


def old(path):
    """As it was some time ago: what is younger than a step of the clock is not kept."""
    while time.time_ns() - os.stat(path).st_ctime_ns < 2 * STEP_NS:
        time.sleep(STEP_NS / 1e9)
    return str(path)


def slow(make):
    """A reader that takes long enough to be worth keeping."""

    def read(path, *args, **named):
        end = time.thread_time() + 0.004
        made = make(path, *args, **named)
        while time.thread_time() < end:
            pass
        read.calls += 1
        return made

    read.calls = 0
    return read


LEAF = FileLeaf("test", lambda: "build", lambda *args, **named: repr((args, named)))


def call(read, path, *args, **named):
    """As functions.Replaced does it."""
    kept = leaves.active()
    wanted = LEAF.wanted((path, *args), named) if kept is not None else None
    if wanted is None:
        return read(path, *args, **named)
    found = kept.find(wanted.key)
    if found is not None:
        return LEAF.found(found)
    return LEAF.make(kept, wanted, read, (path, *args), named)


def numbers(path, scale=1.0):
    return np.array(Path(path).read_text().split(), float) * scale


def test_the_next_lane_finds_what_one_has_made(worker, tmp_path):
    (tmp_path / "a").write_text("1 2 3")
    path, read = old(tmp_path / "a"), slow(numbers)
    made = []
    for _ in range(3):
        worker.lane()
        made.append(call(read, path))
    assert read.calls == 1
    worker.lane()
    assert [one.tolist() for one in made] == [[1, 2, 3]] * 3
    assert (worker.hits, worker.misses) == (2, 1)


def test_what_a_program_writes_into_a_result_is_its_own(worker, tmp_path):
    (tmp_path / "a").write_text("1 2 3")
    path, read = old(tmp_path / "a"), slow(numbers)
    worker.lane()
    call(read, path)[:] = 9
    worker.lane()
    first, second = call(read, path), call(read, path)
    assert first is not second and not np.shares_memory(first, second)
    first[0] = 7
    first.resize(10)  # in place: only an array with memory of its own can be
    assert first.flags.owndata and first.base is None and first.flags.writeable
    assert second.tolist() == call(read, path).tolist() == [1, 2, 3]


def test_memory_that_the_worker_has_given_up_is_let_go(worker, tmp_path):
    (tmp_path / "a").write_text("1 2 3")
    path, read = old(tmp_path / "a"), slow(numbers)
    worker.lane()
    call(read, path)
    lane, mapped, segment = worker.lane(), [], worker.segment
    worker.segment = lambda number: mapped.append(segment(number)) or mapped[-1]
    call(read, path)
    assert read.calls == 1
    held = [weakref.ref(mapped.pop())]
    assert held[0]() is not None, "for the next lookup"
    worker.segments.clear()
    lane.begin()  # the second batch, which looks again
    assert held[0]() is None
    assert call(read, path).tolist() == [1, 2, 3]


@in_own_process
def test_an_index_imports_nothing_into_the_program(tmp_path):
    """Each lane would do it again: numpy.ma took 15 ms of each lane of each epoch."""
    worker, before = LeafWorker(), set(sys.modules)
    worker.lane()
    for number in range(3):
        path = Path(tmp_path) / str(number)
        path.write_text("1 2 3")
        call(slow(numbers), old(path))
        worker.lane()
    assert len(worker.segments) == 3 and call(numbers, path).tolist() == [1, 2, 3]
    assert set(leaves.here._segments) <= set(worker.segments)
    assert set(sys.modules) - before == set(), set(sys.modules) - before


def test_arguments_and_the_files_ending_name_different_leaves(worker, tmp_path):
    for name in ("a.txt", "a.gz"):
        (tmp_path / name).write_text("1 2 3")
    os.remove(tmp_path / "a.gz")
    os.link(tmp_path / "a.txt", tmp_path / "a.gz")
    read = slow(numbers)
    for _ in range(2):
        worker.lane()
        for name in ("a.txt", "a.gz"):
            for scale in (1.0, 2.0):
                assert call(read, old(tmp_path / name), scale).tolist() == [
                    scale,
                    2 * scale,
                    3 * scale,
                ]
    assert read.calls == 4


@pytest.mark.parametrize("change", ["in place", "replaced", "cut", "times put back"])
def test_a_file_that_has_changed_is_read_again(worker, tmp_path, change):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    read = slow(numbers)
    worker.lane()
    call(read, old(path))
    state = os.stat(path)
    if change == "replaced":
        (tmp_path / "b").write_text("4 5 6")
        os.utime(tmp_path / "b", ns=(state.st_atime_ns, state.st_mtime_ns))
        os.rename(tmp_path / "b", path)
    elif change == "cut":
        os.truncate(path, 3)
    else:
        path.write_text("4 5 6")
        if change == "times put back":
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    worker.lane()
    assert call(read, str(path)).tolist() == ([1, 2] if change == "cut" else [4, 5, 6])


def test_a_file_that_was_just_written_is_not_kept(worker, tmp_path):
    """Within a step of the clock it may be written again, and look as it did."""
    path, read = tmp_path / "a", slow(numbers)
    for number in range(20):
        path.write_text(f"{number:03}")
        worker.lane()
        assert call(read, str(path)).tolist() == [number]
        with open(path, "r+") as file:
            file.write(f"{number + 500:03}")  # mostly within the same step
        worker.lane()
        assert call(read, str(path)).tolist() == [number + 500]
    worker.lane()
    assert worker.entries == 0


def test_a_file_that_changes_while_it_is_read_is_not_kept(worker, tmp_path):
    path = tmp_path / "a"
    path.write_text("1 2 3")

    def meanwhile(name):
        made = numbers(name)
        path.write_text("4 5 6")
        return made

    worker.lane()
    assert call(slow(meanwhile), old(path)).tolist() == [1, 2, 3]
    worker.lane()
    assert worker.entries == 0


def test_what_may_not_be_read_any_more_is_refused_as_before(worker, tmp_path):
    path, read = tmp_path / "a", slow(numbers)
    path.write_text("1 2 3")
    worker.lane()
    call(read, old(path))
    worker.lane()
    os.rename(path, tmp_path / "b")
    with pytest.raises(FileNotFoundError):
        call(read, str(path))
    with pytest.raises(IsADirectoryError):
        call(read, str(tmp_path))


def test_errors_are_raised_each_time_and_nothing_is_kept(worker, tmp_path):
    path = tmp_path / "a"
    path.write_text("1 x")
    for _ in range(2):
        worker.lane()
        with pytest.raises(ValueError, match="could not convert"):
            call(slow(numbers), old(path))
    assert worker.entries == 0


def test_what_a_reader_writes_to_standard_error_comes_each_time(worker, tmp_path, capfd):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    loud = FileLeaf("loud", lambda: "build", lambda: "", quiet=True)

    def read(name):
        os.write(2, b"a warning of the library\n")
        return slow(numbers)(name)

    for _ in range(2):
        kept = worker.lane()
        wanted = loud.wanted((old(path),), {})
        assert kept.find(wanted.key) is None
        assert loud.make(kept, wanted, read, (str(path),), {}).tolist() == [1, 2, 3]
    assert capfd.readouterr().err.count("a warning of the library") == 2


def test_a_reader_whose_results_are_not_worth_it_is_left_alone_where_others_are_kept(
    worker, tmp_path
):
    quick, path = FileLeaf("quick", lambda: "build", lambda: ""), tmp_path / "a"
    path.write_text("1 2 3")
    worker.lane()
    call(slow(numbers), old(path))
    kept, looked = worker.lane(), 0
    assert kept.has_any
    for _ in range(Worth.LAST + 160):
        if not quick.rests(kept):
            looked += 1
            quick.make(kept, quick.wanted((str(path),), {}), numbers, (str(path),), {})
    assert looked == Worth.LAST + 10
    quick.found(memoryview(b"".join(map(bytes, packed(np.ones(3))))))
    assert not quick.rests(kept), "one was found"


def test_a_worker_without_room_costs_only_speed(tmp_path):
    worker = LeafWorker(room=0)
    path = tmp_path / "a"
    path.write_text("1 2 3")
    read = slow(numbers)
    for _ in range(3):
        worker.lane()
        assert call(read, old(path)).tolist() == [1, 2, 3]
    worker.lane()
    assert read.calls == 3 and worker.entries == 0
    assert worker.misses == 3, "or nobody would give the job any room"


@pytest.mark.parametrize("gone", ["at once", "when it is handed over", "before it is found"])
def test_a_worker_that_has_gone_costs_only_speed(worker, tmp_path, gone):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    read = slow(numbers)
    for step in ("at once", "when it is handed over", "before it is found"):
        worker.gone = worker.gone or gone == step
        if step != "when it is handed over":
            worker.lane()
        else:
            leaves.here.end()
        assert call(read, old(path)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("question", ["index", "counts", "put", "segment"])
def test_a_worker_that_is_silent_is_not_asked_again(worker, tmp_path, question):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    read, now, real = slow(numbers), [0.0], getattr(worker, question)
    worker.lane()
    call(read, old(path))
    if question != "put":
        leaves.here.end()

    def silent(*args):
        now[0] += PATIENCE
        raise TimeoutError

    if question != "put":
        kept = leaves.here = leaves.Leaves(False, True, lambda: worker, lambda: now[0])
        kept.begin()
    else:
        kept = leaves.here
        kept._clock = lambda: now[0]
    setattr(worker, question, silent)
    for _ in range(3):
        assert call(read, str(path)).tolist() == [1, 2, 3]
        kept.begin()
    kept.end()
    asked = worker.asked
    for _ in range(9):
        kept.begin()
        assert call(read, str(path)).tolist() == [1, 2, 3]
    kept.end()
    assert worker.asked == asked and not kept.active
    setattr(worker, question, real)
    worker.lane()
    assert call(read, str(path)).tolist() == [1, 2, 3]


def test_a_segment_that_was_given_up_is_a_miss(worker, tmp_path):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    read = slow(numbers)
    worker.lane()
    call(read, old(path))
    worker.lane()
    worker.segments.clear()
    assert call(read, str(path)).tolist() == [1, 2, 3]
    assert read.calls == 2


def test_a_fork_of_the_program_neither_finds_nor_keeps(worker, tmp_path):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    read = slow(numbers)
    kept = worker.lane()
    call(read, old(path))
    pid = os.fork()
    if pid == 0:
        (tmp_path / "b").write_text("4 5 6")
        wrong = call(read, old(tmp_path / "b")).tolist() != [4, 5, 6]
        kept.end()  # it hands over what is its parent's, if at all
        os._exit(wrong)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    worker.lane()
    assert worker.entries == 1, "and a fork that holds the memory keeps nobody from sealing it"


def test_a_program_that_closes_all_files_has_its_own_left_alone(worker, tmp_path):
    names = [tmp_path / name for name in ("a", "b", "c")]
    for name in names[:2]:
        name.write_text("1 2 3")
    read = slow(numbers)
    worker.lane()
    call(read, old(names[0]))
    segment = leaves.here._segment._fd
    os.close(segment)
    own = os.open(names[2], os.O_CREAT | os.O_RDWR)
    assert own == segment, "it has the number of the segment's"
    os.write(own, b"the program's own")
    assert call(read, old(names[1])).tolist() == [1, 2, 3]
    worker.lane()
    assert os.pread(own, 99, 0) == b"the program's own" and worker.entries == 0
    os.close(own)


def test_threads_find_and_keep(worker, tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    paths = []
    for number in range(40):
        (tmp_path / str(number)).write_text(f"{number} {number}")
        paths.append(str(tmp_path / str(number)))
    old(paths[-1])
    read = slow(numbers)
    for _ in range(3):
        worker.lane()
        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda path: call(read, path).tolist(), paths))
        assert made == [[number, number] for number in range(40)]
    worker.lane()
    assert worker.hits == 80 and worker.entries == 40


def test_only_one_iteration_keeps_nothing(worker, tmp_path):
    path = tmp_path / "a"
    path.write_text("1 2 3")
    worker.lane(keeps=False)
    call(slow(numbers), old(path))
    worker.lane(keeps=False)
    assert worker.entries == 0 and worker.misses == 1
