"""Selects which tests run (support/extent.py)."""

import pytest
from support import extent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not extent.BRIEF:
        return
    kept = extent.select(items)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
