"""Selects which tests run (support/extent.py), and looks after those that hang (support/hang_watch.py)."""

import pytest
from support import extent, hang_watch


def pytest_configure(config: pytest.Config) -> None:
    hang_watch.start(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not extent.BRIEF:
        return
    kept = extent.select(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
