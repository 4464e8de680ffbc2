"""Buffers of a batch are reused from batch to batch (headrace/stage/memory.py)."""

import subprocess
import sys

SIZE = 48 << 20  # more than glibc keeps of itself
PROGRAM = """
import pathlib
import resource
import sys
import numpy as np
from headrace.stage import memory

def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()

if sys.argv[2] != "as it is":
    memory.keep(int(sys.argv[2]))
before = resident()
np.ones(int(sys.argv[1]), np.uint8)
print(resident() - before)
"""


def kept_of_a_buffer(most, **environment):
    """Bytes that stay with a process after it has let go of a buffer of SIZE."""
    command = [sys.executable, "-c", PROGRAM, str(SIZE), str(most)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_buffer_of_a_batch_stays():
    assert kept_of_a_buffer("as it is") < SIZE / 2
    assert kept_of_a_buffer(128 << 20) > SIZE / 2


def test_no_more_stays_than_was_said():
    assert kept_of_a_buffer(32 << 20) < SIZE / 2


def test_what_the_user_told_malloc_stands():
    assert kept_of_a_buffer(128 << 20, MALLOC_TRIM_THRESHOLD_="131072") < SIZE / 2
