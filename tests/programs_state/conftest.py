"""One run of the selected cases for each test module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.both_cases import Case, Runs, cases, parameters
from support.photos import write_jpegs
from support.same_lines import SameLines


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames and metafunc.cls and issubclass(metafunc.cls, SameLines):
        metafunc.parametrize("case", parameters(cases(metafunc.cls.themes)))


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jpegs(tmp_path_factory.mktemp("photos"), classes=3, count=7)


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, photos: Path
) -> Iterator[Runs]:
    selected = [_case(item) for item in request.session.items if item.path == request.path]
    yield Runs(tmp_path_factory.mktemp("cases"), photos, filter(None, selected))


def _case(item: pytest.Item) -> Case | None:
    call = getattr(item, "callspec", None)
    return call.params.get("case") if call else None
