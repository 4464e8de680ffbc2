"""What a loader's first iteration keeps, where the program is seen to iterate again."""

import sys

import pytest
from headrace.serve import loops
from headrace.stage.leaf_cost import FirstIteration, Worth


class Loader:
    """Tells at each iter() whether the program is in a loop."""

    def __init__(self):
        self.seen = []

    def __iter__(self):
        self.seen.append(loops.surround(sys._getframe(1)))
        return iter([1, 2])


def program(text, **names):
    """What a loader was told in a program of that text, which is its main module."""
    made = Loader()
    exec(compile(text, "<program>", "exec"), {"__name__": "__main__", "loader": made, **names})
    assert made.seen, "the program does not iterate"
    return made.seen


ONCE = {
    "one loop": "for batch in loader: pass",
    "one loop, with numbers": "for n, batch in enumerate(loader):\n if n: continue\n len([n for n in [n]])",
    "a list of it": "list(loader)",
    "after a loop": "for n in range(3): pass\nfor batch in loader: pass",
    "before a loop": "for batch in loader: pass\nfor n in range(3): pass",
    "in a function": "def train():\n for batch in loader: pass\ntrain()",
    # The loop that asks such a generator for its next item is the iteration.
    "by a generator": "def shown(it):\n for x in it: yield x\nfor batch in shown(loader): pass",
    "by two": "def a(it):\n for x in it: yield x\ndef b(it):\n yield from it\nfor x in a(b(loader)): pass",
    "by a generator, with much in it": "def shown(it):\n for x in it: yield x\nn = 0\nfor batch in shown(loader):\n"
    + " n = n + n\n" * 400,
    "by next()": "it = iter(loader)\nwhile True:\n try: next(it)\n except StopIteration: break",
}
AGAIN = {
    "epochs": "for epoch in range(2):\n for batch in loader: pass",
    "while": "n = 0\nwhile n < 2:\n n += 1\n for batch in loader: pass",
    "while not": "n = 2\nwhile not n == 0:\n n -= 1\n for batch in loader: pass",
    "for ever": "n = 0\nwhile True:\n n += 1\n for batch in loader: pass\n if n > 1: break",
    "a function of an epoch": "def train():\n for batch in loader: pass\nfor epoch in range(2): train()",
    "a generator in epochs": "def shown(it):\n for x in it: yield x\n"
    "for epoch in range(2):\n for batch in shown(loader): pass",
    "a list in epochs": "for epoch in range(2): list(loader)",
    "in a class": "class Trainer:\n def fit(self):\n  for epoch in range(2): self.epoch()\n"
    " def epoch(self):\n  for batch in loader: pass\nTrainer().fit()",
    "begun again": "n, it = 0, iter(())\nwhile n < 5:\n n += 1\n try: next(it)\n"
    " except StopIteration: it = iter(loader)",
    # More than 255 instructions after it.
    "far": "for epoch in range(2):\n for batch in loader: pass\n" + " n = epoch + epoch\n" * 400,
}


@pytest.mark.parametrize("name", ONCE)
def test_a_program_without_a_loop_round_it_may_iterate_once(name):
    assert not any(program(ONCE[name]))


@pytest.mark.parametrize("name", AGAIN)
def test_a_program_in_a_loop_is_likely_to_iterate_again(name):
    seen = program(AGAIN[name])
    assert all(seen), seen


def test_loops_of_what_runs_the_program_do_not_count():
    for _ in range(2):
        assert program("list(loader)") == [False]


def test_loops_between_the_program_and_its_iter_do_not_count():
    namespace = {"__name__": "torch.utils.data.dataloader"}
    exec("def made(it):\n for _ in range(2): n = iter(it)\n return n", namespace)
    assert program("for batch in made(loader): pass", made=namespace["made"]) == [False, False]
    namespace["__name__"] = "torch.utils.database"  # another package
    assert program("for batch in made(loader): pass", made=namespace["made"]) == [True, True]


class Unspeakable:
    def __str__(self):
        raise AssertionError("asked for its text")


@pytest.mark.parametrize("name", [None, Unspeakable(), ""])
def test_a_module_without_a_name_is_the_programs(name):
    made = Loader()
    names = {"loader": made} if name is None else {"loader": made, "__name__": name}
    exec("for epoch in range(2): list(loader)", names)
    assert made.seen == [True, True]


def test_an_eighth_of_the_lane_is_spent_on_later_iterations():
    first = FirstIteration(again=True)
    assert not first.invests(0.0) and first.invests(0.01)
    first.spend(1.0)
    assert not first.invests(8.0) and first.invests(8.01)
    assert not FirstIteration(again=False).invests(1e9)


@pytest.mark.parametrize("first", [True, False])
def test_what_the_first_iteration_alone_does_not_keep_is_looked_for_later(first):
    worth = Worth()
    for _ in range(Worth.LAST):
        worth.judge(False, seconds=0.003, size=1 << 20, first=first)
    assert worth.is_likely() == first
    for _ in range(Worth.LAST):
        worth.judge(False, seconds=1e-6, size=1 << 20, first=first)
    assert not worth.is_likely(), "it is kept in no iteration"
