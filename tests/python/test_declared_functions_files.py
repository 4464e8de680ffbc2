"""Files that declared functions read, what they do beside, and the evidence that is asked of their results."""

import os
import random
import time
import types
from pathlib import Path

import headrace
import numpy as np
import pytest
import soundfile
import torchvision
from headrace.stage import cached_calls, leaves
from headrace.stage.cached_rules import FIRST, Budget
from headrace.stage.leaf_arrays import FileLeaf
from headrace.stage.leaf_keys import STEP_NS
from headrace.stage.witness import Witness
from support.declared_functions import Declared, burn, old


def test_files_that_a_function_opens_are_part_of_its_results(worker, tmp_path):
    class Own:
        def __init__(self, folder):
            self.folder = folder

        def read(self, name):
            burn("read")
            return (self.folder / name).read_text()

    own = Own(tmp_path)
    (tmp_path / "a").write_text("one")
    old(tmp_path / "a")
    served = Declared(worker, Own.read)
    assert served.twice(lambda: own.read("a")) == ("one", "one") and served.runs("read") == 1
    state = os.stat(tmp_path / "a")
    (tmp_path / "a").write_text("two")
    os.utime(tmp_path / "a", ns=(state.st_atime_ns, state.st_mtime_ns))
    old(tmp_path / "a")
    assert served.epochs(2, lambda: own.read("a")) == ["two", "two"] and served.runs("read") == 2
    os.remove(tmp_path / "a")
    worker.lane()
    with pytest.raises(FileNotFoundError):
        own.read("a")


def test_a_file_that_was_written_a_moment_ago_is_not_believed(worker, tmp_path):
    path = tmp_path / "a"

    def read(name):
        burn("fresh", 0.002)
        return Path(name).read_text()

    served = Declared(worker, read)
    served.believe()
    rng, seen, wanted = random.Random(5), [], []
    for _ in range(200):
        worker.lane()
        if rng.random() < 0.5:
            path.write_text(str(rng.randrange(10)))
        elif rng.random() < 0.1 and path.exists():
            old(path)
        if path.exists():
            wanted.append(path.read_text())
            seen.append(read(str(path)))
    assert seen == wanted


def test_a_state_that_may_hide_a_change_is_none(tmp_path):
    path = tmp_path / "a"
    path.write_text("1")
    seen = Witness([str(path), str(tmp_path / "none")])
    seen.began = os.stat(path).st_ctime_ns + STEP_NS - 1
    assert not seen.holds(), "within a step of the kernel's clock"
    seen.began += 1
    assert seen.holds()
    (tmp_path / "none").write_text("1")
    assert not seen.holds(), "there was no such file"


def test_our_own_deeds_within_a_call_are_none_of_it(worker, tmp_path):
    """np.loadtxt as a leaf: it seals segments, and opens the file to know it."""
    np.savetxt(tmp_path / "a", np.random.default_rng(1).normal(size=(2000, 6)))
    leaf = FileLeaf("test", lambda: "build", lambda: "")

    def read(folder, name):
        burn("leaf")
        path = folder + "/" + name
        kept = leaves.active()
        made = leaf.make(kept, leaf.wanted((path,), {}), np.loadtxt, (path,), {})
        kept._hand_over()
        return made.sum()

    space = {"burn": burn, "leaf": len, "leaves": leaves, "np": np}
    code = types.FunctionType(
        read.__code__, {**space, "read": read}, "read", None, read.__closure__
    )
    old(tmp_path / "a")
    worker.lane()
    with Witness() as seen:
        code(str(tmp_path), "a")
    assert seen.deed == seen.spoilt == "" and list(seen.files) == [str(tmp_path / "a")]
    assert worker.entries == 1


def test_a_file_that_changes_while_it_is_read_is_not_kept(worker, tmp_path):
    path = tmp_path / "a"
    path.write_text("one")

    def read(name):
        with open(name) as file:
            text = file.read()
        burn("changing")
        return text

    Declared(worker, read)
    real = time.thread_time
    worker.lane()
    old(path)
    calls = []

    def clock():
        calls.append(1)
        if len(calls) == 20:
            path.write_text("two")
        return real()

    time.thread_time = clock
    try:
        assert read(str(path)) == "one"
    finally:
        time.thread_time = real
    old(path)
    assert served_text(worker, read, path) == "two"


def served_text(worker, read, path):
    worker.lane()
    return read(str(path))


def test_files_that_python_does_not_open_are_noticed(worker, tmp_path):
    (tmp_path / "a.txt").write_text("1")

    def by_c(folder, name):
        burn("by c")
        return torchvision.io.read_file(folder + "/" + name).tolist()

    served = Declared(worker, by_c)
    old(tmp_path / "a.txt")
    assert served.epochs(2, lambda: by_c(str(tmp_path), "a.txt")) == [[49], [49]]
    assert worker.entries == 0 and "torchvision.io.read_file reads files" in served.why

    def by_system_calls(folder, name):
        burn("by system calls")
        return soundfile.read(folder + "/" + name, dtype="int16")[0].tolist()

    served = Declared(worker, by_system_calls)
    soundfile.write(tmp_path / "a.wav", np.arange(9000, dtype="int16"), 8000)
    old(tmp_path / "a.wav")
    made = served.epochs(2, lambda: by_system_calls(str(tmp_path), "a.wav"))
    assert made == [list(range(9000))] * 2
    assert worker.entries == 0 and "files that Python does not open" in served.why


def test_files_that_a_library_opens_by_an_argument_are_part_of_its_results(worker, tmp_path):
    path = tmp_path / "a.txt"

    def by_c(path):
        burn("by argument")
        return torchvision.io.read_file(path).tolist()

    served = Declared(worker, by_c)
    for text, runs in (("1", 1), ("2", 2)):
        path.write_text(text)
        old(path)
        assert served.twice(lambda: by_c(str(path))) == ([ord(text)], [ord(text)])
        assert served.runs("by argument") == runs, served.why


@pytest.mark.parametrize("deed", ["writes", "lists", "starts"])
def test_what_does_more_than_return_is_not_kept(worker, tmp_path, deed, capfd):
    import subprocess

    def written(folder):
        burn("deed")
        Path(folder, "out").write_text("1")
        return 1

    def listed(folder):
        burn("deed")
        return sorted(os.listdir(folder))

    def started(folder):
        burn("deed")
        return subprocess.call(["true"])

    code = {"writes": written, "lists": listed, "starts": started}[deed]
    served = Declared(worker, code)
    served.epochs(3, lambda: code(str(tmp_path)))
    assert served.runs("deed") == 3 and worker.entries == 0 and served.is_over
    assert capfd.readouterr().err.count("headrace:") == 1


def test_never_cached_outweighs_and_ends_with_whoever_calls_it(worker):
    @headrace.never_cached
    def never(x):
        return x

    cached_calls.put(never, cached_calls.NeverCall(never))

    def caller(x):
        burn("caller")
        return never(x)

    served = Declared(worker, caller)
    assert served.epochs(3, lambda: caller(1)) == [1, 1, 1]
    assert served.runs("caller") == 3 and "never_cached" in served.why
    from headrace import declared

    headrace.cached(never)
    assert never not in declared.cached_functions()


# Evidence.


def test_the_first_results_are_made_again_then_a_share(worker):
    def made(x):
        burn("evidence", 0.002)
        return [x]

    served = Declared(worker, made)
    worker.lane()
    for x in range(FIRST + 60):
        made(x)
    worker.lane()
    for x in range(FIRST + 60):
        assert made(x) == [x]
    again = served.runs("evidence") - (FIRST + 60)
    assert FIRST <= again <= FIRST + 3, "1% of the CPU time at most"
    assert served.compared == again and served.hits == FIRST + 60


def test_after_the_first_a_hundredth_of_the_time_is_spent():
    budget = Budget()
    assert budget.takes(FIRST - 1, 10.0, 0.0), "the first, whatever they take"
    budget.spend(FIRST - 1, 10.0)
    assert not budget.takes(FIRST, 0.01, 0.9) and budget.takes(FIRST, 0.01, 1.1)
    budget.spend(FIRST, 0.01)
    assert not budget.takes(FIRST, 0.01, 1.9) and budget.takes(FIRST, 0.01, 2.1)


def test_one_difference_ends_it_in_all_lanes(worker, capfd):
    def clocked(x):
        burn("all lanes", 0.002)
        return (
            x
            + (time.monotonic_ns() % 2 if x == 17 else 0) * 0
            + (time.monotonic_ns() if x == 17 else 0)
        )

    served = Declared(worker, clocked)
    worker.lane()
    [clocked(x) for x in range(20)]
    worker.lane()
    [clocked(x) for x in range(20)]
    assert served.is_over and served.compared == 17
    worker.lane()
    hits = served.hits
    [clocked(x) for x in range(20)]
    assert served.hits == hits
    assert capfd.readouterr().err.count("returned something else") == 1


def test_a_worker_that_has_gone_costs_only_speed(worker):
    def made(x):
        burn("gone")
        return [x]

    served = Declared(worker, made)
    worker.lane()
    made(1)
    worker.gone = True
    assert served.epochs(2, lambda: made(1)) == [[1], [1]] and served.runs("gone") == 3
