"""Tests that change libraries for a whole process: each runs in one of its own."""

import functools
from collections.abc import Callable
from pathlib import Path

from support.programs import run_program

_PROGRAM = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
spec = importlib.util.spec_from_file_location("in_own_process", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
getattr(module, sys.argv[3]).__wrapped__(*sys.argv[4:])
"""


def in_own_process(test: Callable[..., None]) -> Callable[..., None]:
    """The test in a fresh interpreter, its fixtures as text. A failure shows its output."""
    tests = Path(__file__).parents[1]

    @functools.wraps(test)
    def run(**fixtures: object) -> None:
        where = str(tests), test.__code__.co_filename, test.__name__
        done = run_program(_PROGRAM, *where, *map(str, fixtures.values()), seconds=300)
        assert done.returncode == 0, done.stdout + done.stderr

    return run
