"""Declared functions that look pure and are not: each is found out, or never kept."""

import functools
import os
import random
import time

import headrace
import numpy as np
import pytest
import torch
from headrace.stage import cached_calls, doubts, kept_entry
from support.declared_functions import Declared, burn

FACTOR = 3
TABLE = [1, 2, 3]
COUNTER = 0
CACHE = {}


def test_a_clock_is_found_out(worker, capfd):
    def stamped(x):
        burn("stamped")
        return x, time.monotonic_ns()

    served = Declared(worker, stamped)
    seen = served.epochs(4, lambda: stamped(1))
    assert len(set(seen)) == 4, "the batch at hand gets the new result"
    assert served.is_over and served.hits == 0
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "stamped (test_declared_functions_found_out.py:" in err
    assert "returned something else" in err and "no longer kept" in err


def test_the_environment_is_not_read_from_a_kept_result(worker, monkeypatch):
    def of_environment():
        burn("environment")
        return os.getenv("HEADRACE_TEST_WORD")

    served = Declared(worker, of_environment)
    seen = []
    for word in "abab":
        monkeypatch.setenv("HEADRACE_TEST_WORD", word)
        seen += served.epochs(1, of_environment)
    assert seen == list("abab") and served.is_over


DRAWS = {
    "random": lambda: random.random(),
    "numpy": lambda: np.random.rand(),
    "torch": lambda: torch.rand(1).item(),
    "shuffle": lambda: random.shuffle([1, 2, 3]),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_what_draws_is_not_kept(worker, capfd, draw):
    def drawn():
        burn("drawn")
        return draw()

    served = Declared(worker, drawn)
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    seen = [repr(one) for one in served.epochs(3, drawn)]
    random.seed(1), np.random.seed(1), torch.manual_seed(1)
    assert seen == [repr(draw()) for _ in range(3)]
    assert served.is_over and worker.entries == 0, served.why
    assert capfd.readouterr().err.count("draws random numbers") == 1


def test_a_global_counter(worker, capfd):
    def counted():
        global COUNTER
        burn("counted")
        COUNTER += 1
        return COUNTER

    served = Declared(worker, counted)
    assert served.epochs(3, counted) == [1, 2, 3]
    assert worker.entries == 0 and "writes the global COUNTER" in served.why
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "where", ["default", "keyword default", "closure", "global", "attribute", "argument"]
)
def test_what_is_changed_by_a_call_ends_it(worker, where, capfd):
    held = []

    class Own:
        def __init__(self):
            self.seen = []

    def of_default(x, seen=[]):  # noqa: B006
        burn("changed")
        seen.append(x)
        return len(seen)

    def of_keyword(x, *, seen=[]):  # noqa: B006
        burn("changed")
        seen.append(x)
        return len(seen)

    def of_closure(x):
        burn("changed")
        held.append(x)
        return len(held)

    def of_global(x):
        burn("changed")
        TABLE.append(x)
        return (
            TABLE.pop() + TABLE.count(x) + len(CACHE.setdefault("n", []) + [CACHE["n"].append(x)])
        )

    def of_attribute(own):
        burn("changed")
        own.seen.append(1)
        return len(own.seen)

    def of_argument(x):
        burn("changed")
        x += 1
        return x.sum()

    own = Own()
    code, make = {
        "default": (of_default, lambda: of_default(1)),
        "keyword default": (of_keyword, lambda: of_keyword(1)),
        "closure": (of_closure, lambda: of_closure(1)),
        "global": (of_global, lambda: of_global(1)),
        "attribute": (of_attribute, lambda: of_attribute(own)),
        "argument": (of_argument, lambda: of_argument(np.zeros(2))),
    }[where]
    CACHE.clear()
    served = Declared(worker, code)
    seen = served.epochs(3, make)
    assert served.is_over and worker.entries == 0
    assert "changes what it was given, or what its code reads" in capfd.readouterr().err
    if where != "argument":
        assert len(set(seen)) == 3
    assert served.runs("changed") == 3


def test_lists_around_and_attributes_that_change_between_calls(worker):
    around = [1]

    class Own:
        factor = 1

    own = Own()

    def made(x):
        burn("between")
        return x * sum(around) * own.factor * TABLE[0] * FACTOR

    served = Declared(worker, made)
    served.believe()
    seen = []
    for change in (
        lambda: None,
        lambda: around.append(2),
        lambda: setattr(own, "factor", 5),
        lambda: setattr(Own, "factor", 7),
        lambda: None,
    ):
        change()
        seen += served.epochs(1, lambda: made(1))
    assert seen == [3, 9, 45, 45, 45] and served.runs("between") == 3
    del own.factor
    assert served.epochs(1, lambda: made(1)) == [63]


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: np.zeros(1000), lambda x: x[1:]),
        (lambda: torch.zeros(1000), lambda x: x[1:]),
        (lambda: torch.zeros(1000), lambda x: x.detach()),
        (lambda: np.zeros(1000), lambda x: torch.from_numpy(x)),
        (lambda: [0.0] * 9, lambda x: x),
        (lambda: [0.0] * 9, lambda x: (x, 1)),
    ],
    ids=["array", "tensor", "detached", "tensor of an array", "itself", "within"],
)
def test_what_shares_memory_with_an_argument_is_not_kept(worker, make, part):
    def shared(x):
        burn("part")
        return part(x)

    served, value = Declared(worker, shared), make()
    for made in served.epochs(3, lambda: shared(value)):
        made = made[0] if isinstance(made, tuple) else made
        made[0] += 1
    assert value[0] + value[1] == 3, "the program writes through it, as without"
    assert worker.entries == 0 and served.why


def test_what_functions_hold_as_attributes_counts(worker):
    def helper(x):
        return x * helper.factor

    helper.factor = 2

    def made(x):
        burn("helper")
        return [helper(x)]

    served = Declared(worker, made)
    assert served.twice(lambda: made(3)) == ([6], [6])
    helper.factor = 3
    assert served.epochs(1, lambda: made(3)) == [[9]]
    assert served.runs("helper") == 2


def test_settings_of_libraries_count(worker):
    def made(x):
        burn("settings")
        return torch.tensor([x])

    served = Declared(worker, made)
    assert served.twice(lambda: made(1.5))[1].dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert served.epochs(1, lambda: made(1.5))[0].dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_an_array_around_that_changes_in_place_counts(worker):
    table, names = np.zeros(20000), [str(i) for i in range(1000)]

    def made(x):
        burn("table")
        return [table.sum() + len("".join(names))]

    served = Declared(worker, made)
    assert served.twice(lambda: made(1)) == ([2890], [2890])
    table[7] = 1
    assert served.epochs(1, lambda: made(1)) == [[2891]]
    names[7] = "long"
    assert served.epochs(1, lambda: made(1)) == [[2894]]
    assert served.epochs(1, lambda: made(1)) == [[2894]] and served.runs("table") == 3


@pytest.mark.parametrize("kind", ["list", "array", "tensor", "in a tuple", "view"])
def test_what_the_function_keeps_itself_is_not_kept_beside(worker, kind):
    inner = functools.lru_cache(
        lambda: {"list": [1], "array": np.zeros(100), "tensor": torch.zeros(4),
                 "in a tuple": (np.zeros(100),), "view": np.zeros(100)}[kind]
    )  # fmt: skip

    def shared():
        burn("shared")
        return inner()[:] if kind == "view" else inner()

    served = Declared(worker, shared)
    made = served.epochs(3, shared)
    if kind != "view":
        assert made[0] is made[1] is made[2], "compared by `is`, as without"
    else:
        assert made[0].base is made[2].base
    assert worker.entries == 0 and "somebody else holds" in served.why


def test_a_cache_within_a_cache(worker):
    @functools.lru_cache
    def inner(x):
        burn("inner")
        return x + 1

    def outer(x):
        burn("outer")
        return inner(x) * 2

    served = Declared(worker, outer)
    assert served.twice(lambda: outer(3)) == (8, 8)
    assert served.runs("outer") == 1

    @functools.lru_cache
    @headrace.cached
    def above(x):
        return x

    assert above(1) == 1


def test_a_lane_that_cannot_take_back_what_it_gave_gives_nothing(worker, monkeypatch):
    def made():
        burn("plain")
        return [1]

    served = Declared(worker, made)
    served.believe()
    monkeypatch.setattr(cached_calls, "gives", False)
    assert served.epochs(3, made) == [[1]] * 3
    assert served.runs("plain") == 3 and served.hits == 0 and served.kept == 1
    assert not served.board.is_believed(served.number)


def test_what_another_lane_ends_meanwhile_is_not_given(worker, monkeypatch):
    """Each lane first says that it gives, then looks whether it may; who ends it, the other way round."""

    def made():
        burn("meanwhile")
        return [1]

    served = Declared(worker, made)
    assert served.twice(made) == ([1], [1])
    assert served.runs("meanwhile") == 1 and served.board.is_believed(served.number)
    true_value, before = kept_entry.Entry.value, bytes(doubts.prepare().number)

    def value(entry, atoms):
        served.board.end(served.number, "of another lane")
        return [*true_value(entry, atoms), "wrong"]

    monkeypatch.setattr(kept_entry.Entry, "value", value)
    assert served.epochs(1, made) == [[1]] and served.runs("meanwhile") == 2
    assert served.board.ended() == {served.number}
    assert bytes(doubts.prepare().number) != before, "the trainer is told"
