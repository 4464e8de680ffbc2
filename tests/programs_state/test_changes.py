"""Programs that change data while loaders run, and that use loaders in threads and forked processes."""

import pytest
from support.both_cases import Case, Runs, cases, parameters

THEMES = ("live_changes", "file_changes", "threads_and_forks", "draws_and_shared_things")


@pytest.mark.parametrize("case", parameters(cases(THEMES)))
def test_same_lines_as_stock(case: Case, runs: Runs):
    runs.check(case)


def test_most_samples_were_not_made_by_the_trainer(runs: Runs):
    """Programs that nobody serves are the same, too: these were served."""
    made = runs.samples_by_path()
    assert made["native"] + made["python"] >= made["local"], made
