"""Functions that Headrace finds by itself: which are found, which are given up and why, and what is told of them."""

import gc
import os
import random
import threading
from pathlib import Path

import headrace
import numpy as np
import pytest
import torch
from headrace.declared import ORIGINAL
from headrace.explain import declared_functions
from headrace.stage import call_board, found_calls, found_rules, found_search, leaves
from headrace.stage.call_board import AGAIN, HITS, KEPT
from headrace.stage.kept_entry import Entry
from headrace.stage.kept_results import NotPacked, Packed
from headrace.stage.leaf_door import Room
from headrace.stage.served_code import without_our_frames
from support.found_lanes import Lanes, Sounds, own_lanes, slow
from support.own_process import in_own_process


@pytest.fixture
def lanes(worker, monkeypatch):
    monkeypatch.setattr(call_board, "board", None)
    monkeypatch.setattr(call_board, "found", {})
    monkeypatch.setattr(call_board, "_taken", {})
    yield lambda dataset: Lanes(worker, dataset)


@in_own_process
def test_the_deterministic_beginning_is_kept_and_the_rest_is_given_up():
    lanes = own_lanes
    made = lanes(Sounds())
    code = Sounds.mel.__code__
    results = []
    for number in range(4):
        random.seed(1)
        results.append(made.iteration(first=number == 0))
    random.seed(1)
    stock = [made.dataset[i] for i in range(8)]
    for result in results:
        assert all(np.array_equal(a, b) for x, y in zip(result, stock, strict=True)
                   for a, b in zip(x, y, strict=True))  # fmt: skip
    assert made.count(Sounds.mel, HITS) > 0 and made.count(Sounds.mel, KEPT) >= 4
    assert "draws random numbers" in made.why(Sounds.__getitem__)
    assert "µs" in made.why(Sounds.short)
    assert "random" in made.why(Sounds.noisy)
    assert Sounds.mel.__code__ is code and not vars(Sounds.mel), "as it was"


def test_what_takes_little_or_draws_has_its_own_code_back_within_a_few_calls(lanes):
    made = lanes(Sounds())
    found_calls.prepare(made.dataset)
    made.worker.lane()
    found_calls.enable(0)
    served = Sounds.short.__code__
    for i in range(found_rules.TRIALS):
        made.dataset.short(i)
    assert Sounds.short.__code__ is not served and Sounds.short.__code__.co_name == "short"
    found_calls.enable(0)
    assert vars(Sounds.short).get(ORIGINAL) is None, "nor is it served in a later lane"
    for one in call_board.found.values():
        made.give_back(one.function)


class Whole(Sounds):
    def __getitem__(self, i):
        return self.mel(i), i


@in_own_process
def test_the_outermost_is_kept_and_what_is_within_is_not():
    lanes = own_lanes
    made = lanes(Whole())
    for number in range(4):
        made.iteration(first=number == 0)
    assert made.count(Whole.__getitem__, HITS) > 0
    assert made.count(Whole.mel, KEPT) == made.count(Whole.mel, HITS) == 0


@in_own_process
def test_nothing_is_kept_beside_another_thread():
    made = own_lanes(Whole())
    ends = threading.Event()
    other = threading.Thread(target=ends.wait)
    other.start()
    for number in range(3):
        made.iteration(first=number == 0)
    ends.set()
    other.join()
    assert made.count(Whole.__getitem__, KEPT) == 0
    for _ in range(3):
        made.iteration()
    assert made.count(Whole.__getitem__, KEPT) > 0


class Drawn(Sounds):
    def scaled(self, i, factor):
        return slow(i * factor)[:9].copy()

    def __getitem__(self, i):
        return self.scaled(i, random.random())


def test_what_is_never_called_again_with_the_same_is_given_up(lanes):
    made = lanes(Drawn())
    for number in range(4):
        made.iteration(first=number == 0)
    assert made.count(Drawn.scaled, AGAIN) == made.count(Drawn.scaled, HITS) == 0
    assert "not called again" in made.why(Drawn.scaled)


def test_names_that_came_again_are_kept_at_a_higher_price():
    watched = found_rules.Watched()
    for _ in range(3):
        assert watched.watches(0.001, comes_again=False), "the first say what it costs"
        watched.watched(0.0004)
    assert not watched.watches(0.001, comes_again=False) and watched.watches(0.001, True)
    assert watched.costs_too_much(0.0002) and not watched.costs_too_much(0.0004)
    assert watched.watches(0.04, comes_again=False)


def test_lateness():
    assert not found_rules.is_late([]) and not found_rules.is_late([0, 5, 9])
    assert not found_rules.is_late([5, 9]) and found_rules.is_late([5, 9, 9])


def test_a_function_that_is_declared_or_never_cached_is_not_found(lanes):
    class Own(Sounds):
        @headrace.cached
        def mel(self, i):
            return slow(i)

        @headrace.never_cached
        def short(self, i):
            return slow(i)

        def calls(self, i):
            return self.short(i) + 1

        def __getitem__(self, i):
            return self.mel(i), self.calls(i)

    made = lanes(Own())
    for number in range(3):
        made.iteration(first=number == 0)
    assert id(Own.mel) not in call_board.found
    assert made.why(Own.short) == "it is never_cached"
    assert "never_cached" in made.why(Own.calls) and made.count(Own.calls, KEPT) == 0
    vars(Own.mel).clear()


@in_own_process
def test_one_difference_ends_it_for_all_lanes_loudly(tmp_path):
    lanes = own_lanes
    errors = Path(tmp_path) / "errors"
    os.dup2(os.open(errors, os.O_CREAT | os.O_WRONLY), 2)

    class Own(Sounds):
        def mel(self, i):
            return float(slow(i)[0]) + float(library(i))

        def __getitem__(self, i):
            return self.mel(i), random.random()

    # As if a library that is known had a state that nobody knows of.
    space = {"hidden": 0, "__name__": "numpy"}
    exec(compile("def library(x): return x + hidden", np.__file__, "exec"), space)
    library = space["library"]
    made = lanes(Own())
    for number in range(3):
        made.iteration(first=number == 0)
    counts = [made.count(Own.mel, what) for what in range(8)]
    assert made.count(Own.mel, HITS) > 0, (made.why(Own.mel), made.why(Own.__getitem__), counts)
    space["hidden"] = 1
    assert [int(a) for a, _ in made.iteration()][1:3] == [2, 3], "the new result is the batch's"
    assert errors.read_text().count("returned something else for the same arguments") == 1
    made.iteration()
    assert call_board.board.is_ended(made.entry(Own.mel).number)
    assert not {
        one["cached"] for one in call_board.told_of_found() if one["name"].endswith("mel")
    } - {False}


def test_a_search_holds_nothing_of_what_it_looks_at(worker):
    dataset = Sounds()
    found_search.find([dataset])
    kept = gc.get_referrers(dataset)
    found_search.find([dataset])
    assert len(gc.get_referrers(dataset)) == len(kept)


def test_recursive_functions_and_generators_are_no_candidates():
    class Own(Sounds):
        def deep(self, n):
            return self.deep(n - 1) if n else 0

        def many(self, n):
            yield n

        def __getitem__(self, i):
            return self.deep(i), list(self.many(i))

    why = {one.function.__name__: one.why_not for one in found_search.find([Own()])}
    assert why["deep"] == "it may call itself" and "generator" in why["many"]
    assert why["__getitem__"] == ""


def test_functions_are_found_through_libraries_and_containers():
    class Step:
        def __call__(self, x):
            return x

    class Own(Sounds):
        def __init__(self):
            super().__init__()
            self.steps = {"all": [Step(), lambda x: x]}

    from torchvision.transforms import Compose, Lambda

    def by_lambda(x):
        return x

    own = Own()
    own.transform = Compose([Lambda(by_lambda), Step()])
    subset = torch.utils.data.Subset(own, [0])
    names = {one.function.__qualname__.rpartition(".")[2] for one in found_search.find([subset])}
    assert {"__getitem__", "mel", "__call__", "by_lambda", "<lambda>"} <= names


def test_which_object_a_number_or_a_text_is_can_be_told_again():
    text, number = "a text of its own", 10**9
    packed = Packed([text, number, 7, "", None], [number, text])
    entry = Entry(memoryview(b"".join(map(bytes, packed.parts(([], 1.0))))))
    other = "".join(["a text of ", "its own"])
    made = entry.value([number, other])
    assert made[0] is other and made[1] is number and made[2:] == [7, "", None]
    with pytest.raises(NotPacked, match="somebody else holds a str"):
        Packed([text], [])
    assert Packed([float("2.5")], []).spec


def test_it_can_be_switched_off(monkeypatch):
    from headrace.service import options

    assert options.from_environment({}).found_functions
    assert not options.from_environment({"HEADRACE_FOUND_FUNCTIONS": "off"}).found_functions


def test_tracebacks_are_those_of_the_program(lanes):
    import traceback

    class Own(Sounds):
        def mel(self, i):
            raise ValueError("no")

        def __getitem__(self, i):
            try:
                return self.mel(i)
            except ValueError:
                return traceback.format_exc()

    def text(own):
        return own[0]

    made = lanes(Own())
    stock = text(made.dataset)
    found_calls.prepare(made.dataset)
    made.worker.lane()
    found_calls.enable(0)
    served = text(made.dataset)
    for one in call_board.found.values():
        made.give_back(one.function)
    assert served != stock and without_our_frames(served) == stock


def test_explain_lists_what_is_found(lanes):
    told = declared_functions.told([Sounds()])
    text = declared_functions.render(told)
    assert {"Sounds.mel", "Sounds.__getitem__"} <= {one["name"] for one in told if one["found"]}
    assert "Functions that Headrace has found" in text and "Sounds.noisy" in text


def test_leaves_within_a_kept_result_are_not_kept_as_well():
    kept = leaves.Leaves(first=False, door=lambda: None)
    kept._room = Room(1 << 20)
    assert kept.keeps(1.0, 1000) and kept.wants_whole
    kept.rests = True
    assert not kept.keeps(1.0, 1000) and not kept.wants_whole


@in_own_process
def test_lanes_can_begin_again_where_enough_is_kept():
    """A checkpoint in each of them costs 20 ms of CPU in each iteration."""
    lanes = own_lanes(Sounds())
    data = lanes.dataset
    found_calls.prepare(data)
    assert not found_calls.may_give(data, 1, at_once=False), "nothing is kept"
    assert found_calls.may_give(data, 1, at_once=True)
    lanes.iteration(first=True)
    lanes.iteration()
    assert lanes.count(Sounds.mel, KEPT) > 0
    assert found_calls.may_give(data, 1, at_once=False)
    assert not found_calls.may_give(data, 10_000, at_once=False)
    assert not found_calls.may_give(Sounds(), 1, at_once=True), "nobody has looked at it"
