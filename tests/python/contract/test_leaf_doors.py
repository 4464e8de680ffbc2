"""The contract of all library functions whose results lanes keep: what a lane finds is what the library returns."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from support.leaf_doors import DOORS, begin, replaced, seen, spoiled
from support.own_process import in_own_process

SEED = 20261130
of_each = pytest.mark.parametrize("name", DOORS)


@pytest.fixture(autouse=True)
def _installed(name):
    pytest.importorskip(DOORS[name].module, reason=f"{DOORS[name].module} is not installed here")


def written(folder, door, seed=SEED):
    door.write(Path(folder), np.random.default_rng(seed))


@of_each
@in_own_process
def test_what_is_found_is_the_librarys(tmp_path, name):
    from headrace.stage import functions

    door, folder = DOORS[name], Path(tmp_path)
    written(folder, door)
    calls = {**door.calls, **door.odd}
    worker = begin(door)
    stock = {key: seen(lambda call=call: call(folder)) for key, call in calls.items()}
    for lane in range(4):
        worker.lane()
        for key, call in calls.items():
            assert seen(lambda call=call: call(folder)) == stock[key], (lane, key)
    worker.lane()
    assert worker.hits >= len(door.calls), (worker.hits, worker.entries)
    assert all(replaced._leaf_on for replaced in functions._put), (
        "by their names, not by comparisons"
    )


@of_each
@in_own_process
def test_each_call_is_kept_and_no_odd_one(tmp_path, name):
    door, folder = DOORS[name], Path(tmp_path)
    written(folder, door)
    worker = begin(door)
    for calls, kept in ((door.calls, True), (door.odd, False)):
        for key, call in calls.items():
            worker.segments.clear()
            for _ in range(2):
                worker.lane()
                seen(lambda call=call: call(folder))
            hits = worker.hits
            worker.lane()
            seen(lambda call=call: call(folder))
            worker.lane()
            assert (worker.hits > hits) == kept, key


@of_each
@in_own_process
def test_what_a_program_writes_into_a_result_is_its_own(tmp_path, name):
    door, folder = DOORS[name], Path(tmp_path)
    written(folder, door)
    worker = begin(door)
    stock = {key: seen(lambda call=call: call(folder)) for key, call in door.calls.items()}
    for _ in range(4):
        worker.lane()
        for key, call in door.calls.items():
            for _ in range(2):
                try:
                    made = call(folder)
                except Exception:
                    continue
                for part in made if isinstance(made, tuple) else (made,):
                    if isinstance(part, np.ndarray):
                        part[...] = 1
            assert seen(lambda call=call: call(folder)) == stock[key], key


@of_each
@pytest.mark.parametrize("change", ["in place", "replaced", "times put back"])
@in_own_process
def test_a_file_that_has_changed_is_read_again(tmp_path, name, change):
    door, folder = DOORS[name], Path(tmp_path)
    worker = begin(door)
    for step in range(6):
        before = {path.name: os.stat(path) for path in folder.iterdir()}
        if change == "replaced":
            for path in list(folder.iterdir()):
                path.unlink()
        written(folder, door, SEED + step // 3)
        if change == "times put back":
            for path in folder.iterdir():
                if path.name in before:
                    state = before[path.name]
                    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        time.sleep(0.03)  # or nothing could tell
        worker.lane()
        made = {key: seen(lambda call=call: call(folder)) for key, call in door.calls.items()}
        from headrace.stage import leaves

        kept, leaves.here = leaves.here, None
        stock = {key: seen(lambda call=call: call(folder)) for key, call in door.calls.items()}
        leaves.here = kept
        assert made == stock, step
    assert worker.entries


@of_each
@in_own_process
def test_a_file_that_was_just_written_is_not_kept(tmp_path, name):
    """Nor, where it was opened before the call, one that was written since the program began."""
    from headrace.process import began
    from headrace.stage import leaf_keys, leaves

    door, folder = DOORS[name], Path(tmp_path)
    now = began.ns
    worker = begin(door)
    if door.opens:
        began.ns = now
    else:
        leaves.STEP_NS = leaf_keys.STEP_NS = 1 << 60
    for _ in range(3):
        written(folder, door)
        worker.lane()
        for call in door.calls.values():
            seen(lambda call=call: call(folder))
    worker.lane()
    assert worker.entries == 0 or name.endswith("imdecode")


@of_each
@in_own_process
def test_what_was_kept_and_differs_ends_the_keeping(tmp_path, name):
    door, folder = DOORS[name], Path(tmp_path)
    written(folder, door)
    key, call = next(iter(door.calls.items()))
    worker = begin(door)
    stock = seen(lambda: call(folder))
    worker.lane()
    call(folder)
    worker.lane()
    with spoiled(worker):
        for _ in range(3):
            assert seen(lambda: call(folder)) == stock, key
        worker.lane()
        assert worker.hits == 1, "it was not asked again"


@of_each
@in_own_process
def test_what_a_program_has_put_in_its_place_is_the_programs(tmp_path, name):
    door, folder = DOORS[name], Path(tmp_path)
    written(folder, door)
    replaced(door, lambda *args, **named: np.array([7.0]))
    call = next(iter(door.calls.values()))
    own = seen(lambda: call(folder))
    worker = begin(door)
    for _ in range(3):
        worker.lane()
        assert seen(lambda: call(folder)) == own
    worker.lane()
    assert worker.entries == 0
