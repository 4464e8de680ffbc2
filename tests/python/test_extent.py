"""What the brief extent of the tests leaves out, and what it must keep (support/extent.py)."""

import itertools
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from support.extent import NAME, covering

ROWS = st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=40, unique=True)


@given(ROWS)
def test_each_value_of_each_column_is_kept(rows):
    kept = covering(rows, enumerate)
    assert [row for row in rows if row in kept] == kept
    for column in range(3):
        assert {row[column] for row in kept} == {row[column] for row in rows}


def test_of_a_product_as_many_as_the_longest_column():
    rows = list(itertools.product(range(7), range(3), range(2)))
    kept = covering(rows, enumerate)
    assert len(kept) == 7
    # The others' values take turns.
    assert sorted(row[2] for row in kept) in ([0] * 3 + [1] * 4, [0] * 4 + [1] * 3)


PRODUCT = """
import pytest
from support.extent import rows, share, some

@pytest.fixture(params=[1, 2])
def given(request): return request.param

@pytest.mark.parametrize("a", [[1], [2], [3], [4]])
@pytest.mark.parametrize(("b", "c"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_product(a, b, c, given): pass

@pytest.mark.parametrize(("a", "b"), rows([(1, 1), (1, 2), (2, 1), (2, 2)]))
def test_rows(a, b): pass

@pytest.mark.parametrize("a", some("abc", "b"))
def test_some(a): pass

@pytest.mark.full
def test_full(): pass

@pytest.mark.parametrize("count", range(share(100)))
def test_share(count): pass

def test_alone(): pass
"""


def collected(pytestconfig, tmp_path, extent):
    """How many tests of each name pytest collects of PRODUCT."""
    (tmp_path / "test_product.py").write_text(PRODUCT)
    tests = pytestconfig.rootpath / "tests"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        + ["-p", "conftest", "-o", "addopts=", "--rootdir", str(tmp_path), str(tmp_path)],
        env={"PATH": "", "PYTHONPATH": str(tests), NAME: extent},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = [line.split("::")[1] for line in done.stdout.splitlines() if "::" in line]
    return {name: len([n for n in names if n.split("[")[0] == name]) for name in _NAMES}


_NAMES = ["test_product", "test_rows", "test_some", "test_full", "test_share", "test_alone"]


def test_what_each_extent_collects(pytestconfig, tmp_path):
    full = collected(pytestconfig, tmp_path, "full")
    assert list(full.values()) == [32, 4, 3, 1, 100, 1]
    brief = collected(pytestconfig, tmp_path, "brief")
    # Rows of one list are cases, each is kept; and as many as the longest list.
    assert list(brief.values()) == [4, 2, 1, 0, 20, 1]
