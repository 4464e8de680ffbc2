"""What found functions must not cost: nothing in the first iteration, nothing where items are short, and comparisons
that lanes of short iterations make together."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from headrace.stage import cached_calls, cached_rules, found_calls, found_rules, served_code
from headrace.stage.cached_rules import FIRST, Budget
from headrace.stage.call_board import COMPARED, HITS, KEPT
from headrace.stage.item_times import LEAST_SECONDS, ItemTimes, may_be_long
from support.declared_functions import burn
from support.found_lanes import BASE, Sounds, own_lanes, slow
from support.headrace_program import HEADRACE, clean_environment
from support.own_process import in_own_process

PROGRAM = """
import sys, time
import torch
from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self):
        return 240

    def long(self, i):
        return torch.full((4,), float(sum(k % (i + 1) for k in range(LENGTH))))

    def __getitem__(self, i):
        return self.long(i)


LENGTH, EPOCHS, KEEPS = map(int, sys.argv[1:])
loader = DataLoader(Data(), 20, num_workers=2, persistent_workers=bool(KEEPS))
for _ in range(EPOCHS):
    for batch in loader:
        pass
"""


def found_in(tmp_path, length, epochs, persistent=False):
    """What the report tells of functions of a program whose items take so many steps of a loop."""
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(PROGRAM)
    words = [sys.executable, str(program), str(length), str(epochs), str(int(persistent))]
    command = [HEADRACE, "run", "--report", str(report), "--cache", "1G", "--workers", "1", *words]
    environment = clean_environment(XDG_CACHE_HOME=str(tmp_path))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return {one["name"] for one in json.loads(report.read_text())["cached_functions"]}


LONG, SHORT = 40_000, 1  # 2 ms and more; some µs, with a part of its batch's time


@pytest.mark.parametrize(
    ("length", "epochs", "persistent", "looks"),
    [
        (LONG, 1, False, False),  # nobody knows whether there will be a second
        (LONG, 2, False, True),
        (SHORT, 3, False, False),
        (LONG, 1, True, True),  # its lanes are never forked again
    ],
)
def test_functions_are_looked_for_where_it_may_pay(tmp_path, length, epochs, persistent, looks):
    assert ("Data.__getitem__" in found_in(tmp_path, length, epochs, persistent)) == looks


def test_what_items_take_is_known_of_batches_after_the_first():
    lanes = ItemTimes(), ItemTimes()
    for times in lanes:
        times._words = lanes[0]._words  # as forks share it
    burn("first", 0.05)
    for lane, times in enumerate(lanes):
        times.made(lane, 4)
        assert lane or times.seconds() is None, "the first one prepares what comes after it"
        for _ in range(2):
            burn("batch", 0.008)
            times.made(lane, 4)
    assert lanes[0].seconds() >= 0.002 and lanes[0].seconds(of_batches=True) >= 0.008
    assert lanes[0].seconds(of_batches=True) == pytest.approx(4 * lanes[0].seconds())
    next_lane = ItemTimes()
    next_lane._words = lanes[0]._words
    before = next_lane.seconds(of_batches=True)
    next_lane.made(0, 4)
    for _ in range(2):
        next_lane.made(0, 4)
    assert next_lane.seconds(of_batches=True) < before, "another lane's batches are added"


def test_short_items_are_not_looked_into():
    assert may_be_long(None) and may_be_long(LEAST_SECONDS)
    assert not may_be_long(0.9 * LEAST_SECONDS)


def test_keys_are_taken_to_come_again_until_it_is_known():
    assert found_rules.is_presumed([0]) and not found_rules.is_presumed([0, 7])
    for function, of in ((slow, ()), (Sounds.mel, (Sounds(),))):
        for args in ((3,), ("a.wav",), ("a.wav", 3), (Path("a"),)):
            assert found_rules.is_by_key(function, of + args, {}), args
        assert found_rules.is_by_key(function, of, {"path": "a"})
        for args in ((), (3, 4), (0.5,), ("a", 0.5), ([1],), (b"a",), (BASE, 3), (True,)):
            assert not found_rules.is_by_key(function, of + args, {}), "they may be drawn"


class Items(Sounds):
    def __getitem__(self, i):
        return slow(i)


@in_own_process
def test_items_are_kept_in_the_iteration_in_which_they_are_found():
    found_rules._UNKNOWN_SHARE = 0  # what is not known to come again is not kept
    found_rules._LATER_SHARE = 100
    made = own_lanes(Items(24))
    [made.dataset[i] for i in range(24)]  # the first iteration, in which nobody looks
    made.iteration(first=False)
    assert made.count(Items.__getitem__, KEPT) == 24 - found_rules.TRIALS


@in_own_process
def test_lanes_find_their_code_made():
    made = own_lanes(Items())
    found_calls.prepare(made.dataset)
    known = served_code.code_to_serve.cache_info()
    made.worker.lane(first=False)
    found_calls.enable(0)
    after = served_code.code_to_serve.cache_info()
    made.give_back(Items.__getitem__)
    assert after.hits > known.hits and after.misses == known.misses


def test_a_share_is_compared_though_no_lane_could_afford_it():
    kept = [0, 0]
    assert not Budget(kept).takes(FIRST, 0.01, 0.6)
    later = Budget(kept)
    assert later.takes(FIRST, 0.01, 0.6), "the two have used 1.2 s"
    later.spend(FIRST, 0.01)
    assert not Budget(kept).takes(FIRST, 0.01, 0.6)


def test_lanes_that_live_at_once_leave_each_other_their_share():
    """A lane of training and one of validation, both with number 0 and persistent: what each uses counts, and the
    cheap comparisons of one do not use up those of the other."""
    kept = [0, 0]
    lanes = {"train": (Budget(kept), 0.001, 1.0), "validate": (Budget(kept), 0.05, 0.2)}
    compared, used = dict.fromkeys(lanes, 0), dict.fromkeys(lanes, 0.0)
    for _ in range(200):
        for name, (budget, takes, epoch) in lanes.items():
            for _ in range(50):
                used[name] += epoch / 50
                if budget.takes(FIRST, takes, used[name]):
                    budget.spend(FIRST, takes)
                    compared[name] += 1
    assert kept[0] == pytest.approx(1e9 * sum(used.values()))
    assert kept[1] <= 0.0101 * kept[0], "1% of all"
    assert compared["train"] > 1500 and compared["validate"] >= 7


@in_own_process
def test_short_lanes_compare_for_ever():
    cached_calls.FIRST = cached_rules.FIRST = 2
    cached_rules.SHARE = 0.1
    made = own_lanes(Items(4))
    for number in range(4):
        made.iteration(first=number == 0)
    compared = made.count(Items.__getitem__, COMPARED)
    assert compared >= 2, "the first ones"
    made.dataset.count = 1

    def item(i):
        burn("beside", 0.03)  # a tenth of that is less than an item takes
        return made.dataset[i]

    for _ in range(40):
        made.iteration(make=item)
    assert made.count(Items.__getitem__, COMPARED) > compared


@in_own_process
def test_a_data_set_is_searched_for_a_few_times():
    found_rules._LATER_SHARE, searched, find = 100, [], found_calls.find

    def noted(roots):
        searched.append(number)
        return find(roots)

    found_calls.find = noted
    made = own_lanes(Items(8))
    for number in range(18):
        made.iteration(first=number == 0)
    assert searched == [0, 1, 2, 4, 8, 16]
    assert len(made.entry(Items.__getitem__).known) == 4, "each iteration begins all the same"
    assert made.count(Items.__getitem__, HITS) > 18
    found_calls.prepare(Items(4))
    assert searched[-1] == 17 and len(searched) == 7, "another data set"
