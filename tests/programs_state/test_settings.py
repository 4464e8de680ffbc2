"""Programs that change settings of their process and of libraries: the same batches, draws and errors."""

import pytest
from support.both_cases import Case, Runs, cases, parameters

THEMES = (
    "torch_settings",
    "picture_settings",
    "process_settings",
    "library_settings",
    "system_settings",
    "script_code",
    "replaced_parts",
    "hooks_and_guards",
)


@pytest.mark.parametrize("case", parameters(cases(THEMES)))
def test_same_lines_as_stock(case: Case, runs: Runs):
    runs.check(case)


def test_most_samples_were_not_made_by_the_trainer(runs: Runs):
    """Programs that nobody serves are the same, too: these were served."""
    made = runs.samples_by_path()
    assert made["native"] + made["python"] >= made["local"], made
