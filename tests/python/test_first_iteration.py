"""What a loader's first iteration keeps, where the program is seen to iterate again."""

import shutil
import subprocess

import pytest
from headrace.serve import loops
from headrace.stage.leaf_cost import FirstIteration, Worth
from support import loop_programs
from support.loop_programs import AGAIN, ONCE, Loader, program


@pytest.mark.parametrize("name", ONCE)
def test_a_program_without_a_loop_round_it_may_iterate_once(name):
    assert not any(program(loops, ONCE[name]))


@pytest.mark.parametrize("name", AGAIN)
def test_a_program_in_a_loop_is_likely_to_iterate_again(name):
    seen = program(loops, AGAIN[name])
    assert all(seen), seen


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13", "3.14"])
def test_instructions_of_each_python_that_is_here_say_the_same(version):
    python = shutil.which(f"python{version}")
    # pyenv has names of Pythons that do not run.
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no python{version} here")
    words = python, loop_programs.__file__, loops.__file__
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_loops_of_what_runs_the_program_do_not_count():
    for _ in range(2):
        assert program(loops, "list(loader)") == [False]


def test_loops_between_the_program_and_its_iter_do_not_count():
    namespace = {"__name__": "torch.utils.data.dataloader"}
    exec("def made(it):\n for _ in range(2): n = iter(it)\n return n", namespace)
    assert program(loops, "for batch in made(loader): pass", made=namespace["made"]) == [
        False,
        False,
    ]
    namespace["__name__"] = "torch.utils.database"  # another package
    assert program(loops, "for batch in made(loader): pass", made=namespace["made"]) == [True, True]


class Unspeakable:
    def __str__(self):
        raise AssertionError("asked for its text")


@pytest.mark.parametrize("name", [None, Unspeakable(), ""])
def test_a_module_without_a_name_is_the_programs(name):
    made = Loader(loops)
    names = {"loader": made} if name is None else {"loader": made, "__name__": name}
    exec("for epoch in range(2): list(loader)", names)
    assert made.seen == [True, True]


def test_an_eighth_of_the_lane_is_spent_on_later_iterations():
    first = FirstIteration(again=True)
    assert not first.invests(0.0) and first.invests(0.01)
    first.spend(1.0)
    assert not first.invests(8.0) and first.invests(8.01)
    assert not FirstIteration(again=False).invests(1e9)


def test_what_the_first_iteration_alone_does_not_keep_is_looked_for_later():
    """In it, it is looked at now and then, as all that is not kept."""
    worth = Worth()
    for _ in range(Worth.LAST):
        worth.judge(False, seconds=0.003, size=1 << 20, first=True)
    assert sum(worth.is_likely(first=True) for _ in range(160)) == 10
    assert worth.is_likely(first=False)


def test_what_no_iteration_keeps_is_not_looked_for_later():
    worth = Worth()
    for _ in range(Worth.LAST):
        worth.judge(False, seconds=1e-6, size=1 << 20, first=True)
    assert not worth.is_likely(first=False)
