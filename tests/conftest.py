"""Selects which tests run (support/extent.py), and looks after those that hang (support/hang_watch.py)."""

import sys
from collections.abc import Iterator

import pytest
from support import examples_of_properties, extent, hang_watch


def pytest_configure(config: pytest.Config) -> None:
    hang_watch.start(config)
    if not examples_of_properties.NEW:
        examples_of_properties.stay_the_same()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not extent.BRIEF:
        return
    kept = extent.select(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


@pytest.fixture(autouse=True)
def _libraries_stay_as_they_are() -> Iterator[None]:
    """Only a lane has our functions in a library's place: a test that puts them there runs @in_own_process."""
    yield
    functions = sys.modules.get("headrace.stage.functions")
    if functions is None:
        return
    left = [replaced.__name__ for replaced in functions._put]
    for replaced in functions._put:
        setattr(replaced._entry.owner, replaced._entry.name, replaced.real)
    functions._put.clear()
    assert not left, f"left in the place of the libraries' functions: {left}"
