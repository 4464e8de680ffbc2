"""Everything that can die, dies, while programs train: each batch comes, once, in order, with its bits.

HEADRACE_TEST_SEED=N draws the faults of run N again. HEADRACE_CHAOS_SECONDS says how long each
program has faults.
"""

import os
import random

import pytest
from support.photos import write_jpegs

from chaos.harness import chaos
from chaos.oracle import Expected
from chaos.records import Budget, Scenario
from chaos.scenarios import SCENARIOS, possible

SEED = int(os.environ.get("HEADRACE_TEST_SEED") or random.SystemRandom().randrange(2**32))
SECONDS = float(os.environ.get("HEADRACE_CHAOS_SECONDS") or 6)
FEWEST = 3  # faults, however slow the machine is


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("chaos") / "photos", 4, 48)


@pytest.fixture(scope="module")
def expected(tmp_path_factory, photos):
    return Expected(tmp_path_factory.mktemp("stock"), photos, SEED % 2**31)


# Each takes 40 s. Those that are always run have every kind of plan but streams, and two kinds of
# transport.
ALWAYS = {"native, TCP", "code with state, shared memory", "code, resumed"}


def marked(scenario):
    marks = () if scenario.name in ALWAYS else pytest.mark.full
    return pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.mark.parametrize("scenario", [marked(scenario) for scenario in SCENARIOS])
def test_every_batch_comes_once_in_order(scenario, photos, expected, tmp_path):
    if why := possible(scenario):
        pytest.skip(why)
    check(scenario, SECONDS, photos, expected, tmp_path)


# Nobody else starts servers that are a program's own. One session may be all that it ever opens.
@pytest.mark.parametrize("plan", ["native", "lanes"])
def test_private_servers_that_are_all_killed_are_started_again(plan, photos, expected, tmp_path):
    kinds = ("coordinator and all workers killed", "all workers killed")
    check(Scenario("private", plan, "private", kinds), 0, photos, expected, tmp_path)


# A worker that was just killed gives no memory. It is not one that never could.
def test_code_with_state_outlives_all_its_workers(photos, expected, tmp_path):
    kinds = ("all workers killed", "coordinator and all workers killed")
    check(Scenario("lanes", "lanes", "shared", kinds), 0, photos, expected, tmp_path)


def check(scenario, seconds, photos, expected, tmp_path):
    print(f"HEADRACE_TEST_SEED={SEED}")
    outcome = chaos(
        scenario,
        SEED,
        place=tmp_path / "run",
        photos=photos,
        expected=expected,
        training_seed=SEED % 2**31,
        budget=Budget(seconds, FEWEST),
    )
    assert not outcome.problems, "\n".join([*outcome.problems, outcome.story])
    assert outcome.verdict.batches > 0 and len(outcome.trials) >= FEWEST
