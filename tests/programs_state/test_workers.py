"""What worker processes are, how they fail, what they make and of which keys."""

import pytest
from support.both_cases import Case, Runs, cases, parameters

THEMES = (
    "worker_processes",
    "failures",
    "batches",
    "batch_memory",
    "samplers_and_streams",
    "start_methods",
    "shapes_of_data_sets",
    "odd_batches_and_errors",
)


@pytest.mark.parametrize("case", parameters(cases(THEMES)))
def test_same_lines_as_stock(case: Case, runs: Runs):
    runs.check(case)


def test_most_samples_were_not_made_by_the_trainer(runs: Runs):
    """Programs that nobody serves are the same, too: these were served."""
    made = runs.samples_by_path()
    assert made["native"] + made["python"] >= made["local"], made
