"""What is known of the frameworks' worker_init_fn is what they do: known_hooks.py, in an interpreter of its own.

The frameworks are 2,800 modules. Every later fork of the process that has them takes longer."""

import subprocess
import sys
from pathlib import Path

from support.headrace_program import clean_environment


def test_known_hooks():
    file = Path(__file__).with_name("known_hooks.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", "--timeout", "200", file],
        env=clean_environment(),
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    print(done.stdout[-300:])
    assert done.returncode == 0, done.stdout + done.stderr
