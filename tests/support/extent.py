"""How much of the tests runs: `./dev test` runs the brief extent, `./dev test --full` all of them.

HEADRACE_TEST_EXTENT is "brief" or "full"; without it, all run. The brief extent leaves out
  - tests with the mark `full`,
  - of a test with several parameters, the combinations that are not needed to take each value once,
  - most of the examples of a property (`examples`, `share`).
"""

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Case = TypeVar("Case")

NAME = "HEADRACE_TEST_EXTENT"
BRIEF = os.environ.get(NAME, "full") == "brief"
# Of what is repeated for more examples, the brief extent takes one in so many.
ONE_IN = 5


def share(count: int, least: int = 1) -> int:
    """`count` in the full extent, and a fifth of it, at least `least`, in the brief one."""
    return max(count // ONE_IN, min(count, least)) if BRIEF else count


def examples(count: int) -> Callable[[Any], Any]:
    """Decorates a property that is tried with `count` examples in the full extent."""
    return settings(max_examples=share(count, least=20))


def some(values: Iterable[Any], kept: Iterable[Hashable]) -> list[Any]:
    """A parameter's values, of which the brief extent takes `kept` alone."""
    values, kept = list(values), set(kept)
    assert kept <= set(values), f"no such values: {kept - set(values)}"
    return [pytest.param(v, marks=() if v in kept else pytest.mark.full) for v in values]


def rows(values: Iterable[Sequence[Hashable]]) -> list[Any]:
    """The rows of several parameters. Of them, the brief extent takes each value of each once."""
    values = list(values)
    kept = covering(values, enumerate)
    return [pytest.param(*row, marks=() if row in kept else pytest.mark.full) for row in values]


def covering(cases: Sequence[Case], values: Callable[[Case], Iterable[Hashable]]) -> list[Case]:
    """Some of the cases, in their order, that have each value that any of them has. Greedy: the case
    with the most new values comes first, and of equal ones the one whose values were taken least."""
    of = [set(values(case)) for case in cases]
    left = set().union(*of)
    taken: dict[Hashable, int] = {}
    chosen: set[int] = set()
    while left:
        best = max(
            (i for i in range(len(cases)) if i not in chosen),
            key=lambda i: (len(of[i] & left), -sum(taken.get(value, 0) for value in of[i])),
        )
        chosen.add(best)
        left -= of[best]
        for value in of[best]:
            taken[value] = taken.get(value, 0) + 1
    return [case for i, case in enumerate(cases) if i in chosen]


def select(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """The tests of the brief extent."""
    functions: dict[Any, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("full") is None:
            name = getattr(item, "originalname", None) or item.name
            function = (item.parent.nodeid if item.parent else "", name)
            functions.setdefault(function, []).append(item)
    return {item for cases in functions.values() for item in covering(cases, _parameters)}


def _parameters(item: pytest.Item) -> Iterable[Hashable]:
    """The names of each parametrize, with the values that this test has. Names of one list stay
    together: each of its rows is a case."""
    call = getattr(item, "callspec", None)
    if call is None:
        return [item.nodeid]
    lists = [_names(mark) for mark in item.iter_markers("parametrize")]
    # What fixtures are parametrized with.
    lists += [[name] for name in call.params if not any(name in names for names in lists)]
    # Equal values of one list are one object in all tests that have them.
    return [(*names, *(id(call.params.get(name)) for name in names)) for names in lists]


def _names(mark: pytest.Mark) -> list[str]:
    names = mark.args[0] if mark.args else mark.kwargs["argnames"]
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
