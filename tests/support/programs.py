"""Python programs that tests start, with headrace importable from where it is here."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import headrace


@contextlib.contextmanager
def program(
    source: str, *args: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen]:
    """A running program. What is left of it at the end is killed."""
    package = str(Path(headrace.__file__).parents[1])
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", source, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run_program(
    source: str, *args: str, seconds: float = 120, **named: object
) -> subprocess.CompletedProcess:
    """The finished program: return code and what it printed. `seconds`: how long it may take."""
    with program(source, *args, **named) as process:
        out, err = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
