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

buffers = memory.Buffers()
for batch in sys.argv[2:]:
    buffers.see(int(batch))
before = resident()
np.ones(int(sys.argv[1]), np.uint8)
print(resident() - before)
"""


FAULTS = """
import resource
import sys
import numpy as np
from headrace.stage import memory

if sys.argv[1] == "lane":
    memory.Buffers()

def sample():
    several = [np.ones(2 << 20, np.uint8) for _ in range(4)]
    return sum(len(one) for one in several)

sample()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    sample()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults_of_samples(process):
    """Pages that the kernel made for 20 samples with four buffers of 2 MiB each, after the first one."""
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, process], env={}, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_buffers_of_samples_stay():
    assert faults_of_samples("other") > 20 * 512  # else there is nothing to keep
    assert faults_of_samples("lane") < 512


def kept_of_a_buffer(*batches, **environment):
    """Bytes that stay with a process that has made batches of these sizes, after it has released a
    buffer of SIZE."""
    command = [sys.executable, "-c", PROGRAM, str(SIZE), *map(str, batches)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_buffers_of_large_batches_stay():
    assert kept_of_a_buffer() < SIZE / 2
    assert kept_of_a_buffer(SIZE) > SIZE / 2
    assert kept_of_a_buffer(1 << 20, SIZE, 1 << 20) > SIZE / 2


def test_no_more_stays_than_batches_need():
    assert kept_of_a_buffer(1 << 20) < SIZE / 2
    assert kept_of_a_buffer(9 << 20) < SIZE / 2


def test_what_the_user_told_malloc_stands():
    assert kept_of_a_buffer(SIZE, MALLOC_TRIM_THRESHOLD_="131072") < SIZE / 2
