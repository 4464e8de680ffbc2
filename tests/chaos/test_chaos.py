"""Everything that can die, dies, while programs train: each batch comes, once, in order, with its bits.

HEADRACE_TEST_SEED=N draws the faults of run N again. HEADRACE_CHAOS_SECONDS says how long each
program has faults.
"""

import os
import random

import pytest
from support.photos import write_jpegs

from chaos.harness import Budget, chaos
from chaos.oracle import Expected
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


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_batch_comes_once_in_order(scenario, photos, expected, tmp_path):
    print(f"HEADRACE_TEST_SEED={SEED}")
    if why := possible(scenario):
        pytest.skip(why)
    outcome = chaos(
        scenario,
        SEED,
        place=tmp_path / "run",
        photos=photos,
        expected=expected,
        training_seed=SEED % 2**31,
        budget=Budget(SECONDS, FEWEST),
    )
    assert not outcome.problems, "\n".join(outcome.problems)
    assert outcome.verdict.batches > 0 and len(outcome.trials) >= FEWEST
