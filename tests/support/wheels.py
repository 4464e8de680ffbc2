"""The portable wheels of this checkout: for the Python that runs the tests, and for others."""

import contextlib
import fcntl
import glob
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
_WHEELS = ROOT / "build" / "wheels"
# As ./dev build has it, so that the compiler's cache knows what was compiled. The compiler is the one of this
# Python, by its name: another Python has another name for it.
_LIKE_DEV = ["--define", "HEADRACE_TESTS=ON", "--define", "HEADRACE_WERROR=ON"]
_COMPILER = {"CXX": str(sysconfig.get_config_var("CXX")).split()[0]}


def portable_wheel() -> pathlib.Path:
    """The one of this Python. It is built in build/release, where all of it is compiled."""
    into = _WHEELS / "tests"
    with _once_a_run(into) as build:
        if build:
            _build(into, "--build-dir", "build/release")
    (wheel,) = into.glob("*.whl")
    return wheel


def wheels_of_others() -> tuple[str, pathlib.Path, pathlib.Path]:
    """A Python 3.10, its wheel, and the wheel of the stable ABI. Skips where Pythons lack."""
    pythons = _pythons()
    stable = min((minor for minor in pythons if minor >= 12), default=0)
    if 10 not in pythons or not stable:
        pytest.skip(f"needs Python 3.10 and one of 3.12 or later, with headers; here: {pythons}")
    into = _WHEELS / "tests-of-others"
    with _once_a_run(into) as build:
        if build:
            _build(into, pythons[10], pythons[stable])
    (older,), (abi3,) = into.glob("*-cp310-cp310-*.whl"), into.glob("*-abi3-*.whl")
    return pythons[10], older, abi3


@contextlib.contextmanager
def _once_a_run(into: pathlib.Path) -> Iterator[bool]:
    """Whether the wheels there are to be built. Processes of one test run share them."""
    into.mkdir(parents=True, exist_ok=True)
    run, stamp = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())), into / "run"
    with open(into / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        built = stamp.exists() and stamp.read_text() == run
        if not built:
            for old in into.glob("*.whl"):
                old.unlink()
        yield not built
        stamp.write_text(run)


def _build(into: pathlib.Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "deploy/wheels/build.py", "--into", into, *_LIKE_DEV, *words],
        cwd=ROOT,
        env=_COMPILER | os.environ,
        capture_output=True,
        text=True,
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _pythons() -> dict[int, str]:
    """Interpreters with headers, by version: those in PATH and pyenv's."""
    found: dict[int, str] = {}
    names = [f"python3.{minor}" for minor in range(10, 15)]
    pyenv = glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3.*"))
    for path in itertools.chain(map(shutil.which, names), pyenv):
        if path is None or not re.search(r"python3\.\d+$", path):
            continue
        code = "import sys, sysconfig; print(sys.version_info[1], sysconfig.get_path('include'))"
        told = subprocess.run([path, "-c", code], capture_output=True, text=True)
        minor, _, include = told.stdout.strip().partition(" ")
        if told.returncode == 0 and os.path.exists(os.path.join(include, "Python.h")):
            found.setdefault(int(minor), path)
    return found
