"""What ends a found function and what does not, and how much is looked at before one is known to be worth it."""

import time

import numpy as np
from headrace.stage import (
    cached_calls,
    cached_rules,
    call_board,
    fixed_part,
    found_calls,
    found_rules,
)
from headrace.stage.call_board import HITS, SAVED_NS
from support.found_lanes import Lanes, Sounds, own_lanes, slow
from support.own_process import in_own_process


def test_a_busy_machine_does_not_end_a_function_whose_hits_save_time():
    new, proven = found_rules.Watched(), found_rules.Watched()
    proven.is_proven = True
    for one in (new, proven):
        for _ in range(4):
            one.looked(0.0009)
            one.watched(0.01)
    assert new.is_dear(0.001) and new.costs_too_much(0.001)
    assert not proven.is_dear(0.001) and not proven.costs_too_much(0.001)
    assert proven.looks(0.001, first=False), "until it is sure, each call is looked for"
    proven.looked(0.0001)
    for _ in range(40):
        proven.looked(0.0009)
    assert not proven.is_dear(0.001), "one cheap name says what it takes"
    always = found_rules.Watched()
    always.is_proven = True
    for _ in range(40):
        always.looked(0.0009)
    assert always.is_dear(0.001), "names that became dear end it all the same"


@in_own_process
def test_dear_names_of_one_lane_do_not_end_what_saves_time():
    cached_calls.FIRST = cached_rules.FIRST = 4
    made = own_lanes(Sounds(24))
    process = found_calls.FoundContent.process
    for number in range(4):
        made.iteration(first=number == 0, make=made.dataset.mel)
    assert made.count(Sounds.mel, SAVED_NS) > 0
    hits, names = made.count(Sounds.mel, HITS), []

    def disturbed(self, libraries):
        names.append(1)
        until = time.thread_time() + (0.2 if len(names) <= 5 else 0)
        while time.thread_time() < until:
            pass
        process(self, libraries)

    found_calls.FoundContent.process = disturbed
    made.iteration(make=made.dataset.mel)
    assert len(names) > 5 and not made.why(Sounds.mel)
    assert made.count(Sounds.mel, HITS) > hits


def test_names_of_the_first_iteration_take_a_small_part_of_its_time():
    watched = found_rules.Watched()
    for _ in range(3):
        watched.looks(0.001, first=True)
        watched.looked(0.0001)
    looks = sum(watched.looks(0.001, first=True) for _ in range(320))
    assert 320 / 10 <= looks <= 320 / 6, "0.1 ms of each 8 ms"


class Rows(Sounds):
    def __init__(self):
        super().__init__()
        self.rows = [(i, i + 1) for i in range(5000)]

    def __getitem__(self, i):
        return sum(self.rows[i]) + len(self.rows)


@in_own_process
def test_much_is_looked_at_only_of_what_was_tried():
    dataset = Rows()

    def looked():
        found_calls.prepare(dataset)
        return any(key[0] == id(Rows.__getitem__.__code__) for key in fixed_part._parts._parts)

    assert not looked(), "nobody knows yet whether it takes long"
    call_board.board.add(Lanes.entry(Rows.__getitem__).number, call_board.TRIALS, 1)
    assert looked(), "lanes find what all of them would look at"


class Filled(Sounds):
    """Fills a table in its first call, as in each lane."""

    table: dict[str, float] = {}

    def mel(self, i):
        if "factor" not in self.table:
            self.table["factor"] = 2.0
        return slow(i)[:100] * self.table["factor"]


@in_own_process
def test_a_call_that_fills_a_table_is_watched_once_for_all_lanes():
    dataset = Filled()
    made, watched = own_lanes(dataset), []
    watch = found_calls.FoundCall._watch

    def noted(self, kept, content, args, named):
        watched.append(args[1:])
        return watch(self, kept, content, args, named)

    found_calls.FoundCall._watch = noted
    stock = [dataset.mel(i) for i in range(8)]
    for number in range(5):
        dataset.table.clear()
        watched.clear()
        result = made.iteration(first=number == 0, make=dataset.mel)
        assert all(map(np.array_equal, result, stock)) and dataset.table
    assert not made.why(Filled.mel) and made.count(Filled.mel, HITS) > 0
    assert not watched, "neither what is kept nor what changes something"


@in_own_process
def test_a_lanes_first_call_that_fills_a_table_is_watched_once_whatever_it_is():
    dataset = Filled()
    made, watched = own_lanes(dataset), []
    watch = found_calls.FoundCall._watch

    def noted(self, kept, content, args, named):
        watched.append(args[1])
        return watch(self, kept, content, args, named)

    found_calls.FoundCall._watch = noted
    for number in range(6):
        dataset.table.clear()
        watched.clear()
        made.iteration(
            first=number == 0, make=lambda i, number=number: dataset.mel((i + number) % 8)
        )
        assert number < 2 or number not in watched, "another call has filled the table before"
    assert not made.why(Filled.mel) and made.count(Filled.mel, HITS) > 0
