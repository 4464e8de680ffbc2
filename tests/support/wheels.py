"""The portable wheel of this checkout, for the Python that runs the tests."""

import contextlib
import fcntl
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTO = ROOT / "build" / "wheels" / "tests"


def portable_wheel() -> pathlib.Path:
    """Builds it in build/release, where all of it is compiled. Processes of one test run share it."""
    INTO.mkdir(parents=True, exist_ok=True)
    run, stamp = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())), INTO / "run"
    with open(INTO / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if stamp.read_text() == run:
                return _the_wheel()
        for old in INTO.glob("*.whl"):
            old.unlink()
        # As ./dev build does, so that nothing is compiled anew.
        like_dev = ["--build-dir", "build/release", "--define", "HEADRACE_TESTS=ON"]
        done = subprocess.run(
            [sys.executable, "deploy/wheels/build.py", "--into", INTO, *like_dev]
            + ["--define", "HEADRACE_WERROR=ON"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1500,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        stamp.write_text(run)
        return _the_wheel()


def _the_wheel() -> pathlib.Path:
    (wheel,) = INTO.glob("*.whl")
    return wheel
