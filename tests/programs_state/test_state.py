"""Data sets that keep state in every construct of Python: each lane has its own, as in stock workers."""

import pytest
from support.both_cases import Case, Runs, cases, parameters

THEMES = ("state_in_statements", "state_in_arrays", "state_in_methods", "state_in_objects")


@pytest.mark.parametrize("case", parameters(cases(THEMES)))
def test_same_lines_as_stock(case: Case, runs: Runs):
    runs.check(case)


def test_most_samples_were_not_made_by_the_trainer(runs: Runs):
    """Programs that nobody serves are the same, too: these were served."""
    made = runs.samples_by_path()
    assert made["native"] + made["python"] >= made["local"], made
