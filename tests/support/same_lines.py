"""The tests of modules of tests/programs_state that say which themes they run."""

from .both_cases import Case, Runs


class SameLines:
    """Base of a test class. `conftest.py` makes a test of each case of its themes."""

    themes: tuple[str, ...]  # files of tests/programs_state/cases

    def test_same_lines_as_stock(self, case: Case, runs: Runs) -> None:
        runs.check(case)

    def test_most_samples_were_not_made_by_the_trainer(self, runs: Runs) -> None:
        """Programs that nobody serves are the same, too: these were served."""
        made = runs.samples_by_path()
        assert made["native"] + made["python"] >= made["local"], made
