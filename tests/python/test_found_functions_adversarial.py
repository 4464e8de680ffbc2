"""Found functions against several hundred small data sets: what looks pure and is not, is never silently different
from the stock loader, bit for bit, over four iterations. Comparisons are switched off, so the proof stands alone.

Cases are in tests/support/found_cases. Each runs in forks of its own.
"""

import os
import warnings

import pytest
from support.found_cases import callers, changes, memos, results, runner, state, world
from support.own_process import in_own_process

CASES = [one for part in (world, state, changes, results, callers, memos) for one in part.cases()]
_PARTS = 4  # each imports torch anew


def test_there_are_enough():
    names = [case.name for case in CASES]
    assert len(names) == len(set(names)) >= 590


@pytest.mark.parametrize("part", range(_PARTS))
@in_own_process  # a fork does not have the threads of other tests, and waits for their locks
def test_nothing_is_silently_different(part):
    wanted = os.environ.get("HEADRACE_TEST_CASE")
    wrong = {}
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as a program has them
        for case in CASES[int(part) :: _PARTS]:
            if wanted and wanted not in case.name:
                continue
            try:
                problem = runner.in_fork(lambda case=case: runner.run(case))
            except RuntimeError as error:
                problem = str(error)
            if problem:
                wrong[case.name] = problem
    assert not wrong, "\n".join(f"{name}: {problem}" for name, problem in wrong.items())
