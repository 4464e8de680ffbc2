"""A test that hangs in code that is not Python's is ended by its name (support/hang_watch.py)."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import hang_watch
from support.headrace_program import clean_environment

TESTS = """
import signal, subprocess, time

def test_before():
    pass

def test_hangs():
    child = subprocess.Popen(["sleep", "30"])
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # as code that never returns to Python
    time.sleep(1000)

def test_after():
    pass
"""
CONFTEST = """
from support import hang_watch

hang_watch.BEFORE, hang_watch.AFTER = 0.5, 1.0
pytest_configure = hang_watch.start
"""


@pytest.mark.parametrize(
    ("age", "told", "now"),
    [(0, 0, 0), (91, 0, 1), (99, 1, 1), (129, 1, 1), (131, 1, 2), (131, 0, 2), (140, 2, 2)],
)
def test_what_is_due(age, told, now):
    assert hang_watch.due(age, 100, told) == now


def test_it_is_named_with_its_stack_and_its_processes_and_the_others_run(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    command = [sys.executable, "-m", "pytest", "-n1", "--timeout", "1", "--rootdir", tmp_path]
    done = subprocess.run(
        [*command, tmp_path],
        env=clean_environment(PYTHONPATH=str(Path(__file__).parents[1])),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    said = done.stdout
    assert "test_it.py::test_hangs has run for" in said, said
    assert ": sleep 30" in said, "its processes"
    assert "Fatal Python error: Aborted" in said and "in test_hangs" in said, said
    assert "crashed while running 'test_it.py::test_hangs'" in said, said
    assert "1 failed, 2 passed" in said, said
