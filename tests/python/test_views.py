"""Programs that make several views of a picture: what is recognised is what their code does."""

import functools
import importlib.util
import os
import random

import pytest
from headrace.capture.views import SOURCE, indices_of, views_of
from headrace.native.plan import NotNative
from support.random_views import write
from support.view_programs import PROGRAMS, Counted, OneView, Shared, asserts, augment
from support.view_runs import same_calls, steps_of, true_run

SEEDS = (
    [int(os.environ["HEADRACE_TEST_SEED"])] if "HEADRACE_TEST_SEED" in os.environ else range(150)
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_what_it_does(name):
    transform = PROGRAMS[name]()
    views = views_of(transform)
    calls, result = true_run(transform)
    found, returned = steps_of(views)
    assert same_calls(found, calls)
    assert returned == result and type(returned) is type(result)
    assert views.seen.same()
    assert steps_of(views_of(transform)) == (found, returned)


def test_a_shared_value_is_one_value():
    views = views_of(Shared())
    assert [value.of for value in views.values] == [SOURCE, 0, SOURCE, 0]
    assert views.result == (3, 1, [1, (1,)])
    assert indices_of(views.result) == [3, 1, 1, 1]
    assert "Shared.__call__ (view_programs.py:" in views.values[0].where


def test_one_chain_is_seen_as_one():
    one = OneView()
    flip = one.flip
    assert views_of(one).chain[:2] == (one.crop, flip) and len(views_of(one).chain) == 6
    assert views_of(Counted(augment())).chain is None
    assert views_of(Counted(augment(), 1)).chain is None  # a list of one


def test_an_assert_is_followed_where_python_runs_it():
    assert views_of(asserts).result == 0
    with pytest.raises(NotNative, match="has an assert that does not hold"):
        views_of(functools.partial(asserts, n=1))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drawn_program_is_what_it_does(seed, tmp_path):
    """HEADRACE_TEST_SEED=N draws the program of that seed alone."""
    text = write(random.Random(seed), seed)
    path = tmp_path / f"drawn_{seed}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    transform = module.make()
    print(f"seed {seed}\n{text}")
    calls, result = true_run(transform)
    found, returned = steps_of(views_of(transform))
    assert same_calls(found, calls)
    assert returned == result
