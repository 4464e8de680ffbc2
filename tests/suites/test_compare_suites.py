"""compare_suites.py finds the tests that fail under `headrace run` only."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("compare_suites.py")

SUITE = '''
import os
from pathlib import Path

import pytest
from torch.utils.data import DataLoader

SERVED = hasattr(DataLoader._get_iterator, "__headrace_stock__")


def test_passes():
    assert [batch.tolist() for batch in DataLoader([1, 2, 3])] == [[1], [2], [3]]


@pytest.mark.parametrize("number", [1, 2])
def test_is_not_served(number):
    assert not SERVED


def test_is_served():
    assert SERVED


@pytest.mark.skipif(SERVED, reason="as some suites do")
def test_is_skipped():
    pass


def test_fails_once():
    """As on a busy machine."""
    if SERVED and not Path("begun").exists():
        Path("begun").touch()
        raise AssertionError
'''


def compared(folder, suite):
    (folder / "test_suite.py").write_text(suite)
    ask = [sys.executable, SCRIPT, "test_suite.py"]
    done = subprocess.run(
        ask, cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=300
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("fails only")]
    return done, [line.rpartition("::")[2] for line in said]


def test_names_what_fails_only_under_headrace_run(tmp_path):
    done, names = compared(tmp_path, SUITE)
    assert names == ["test_is_not_served[1]", "test_is_not_served[2]", "test_is_skipped"]
    assert done.returncode == 1, done.stderr


def test_says_nothing_where_there_is_nothing(tmp_path):
    done, names = compared(tmp_path, "def test_passes():\n    pass\n")
    assert (done.returncode, names) == (0, []), done.stderr


def test_says_so_where_a_run_gives_no_results(tmp_path):
    done, _ = compared(tmp_path, "import os\nos._exit(3)\n")
    assert done.returncode == 2
