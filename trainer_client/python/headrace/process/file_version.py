"""The version of a local file: what all hosts with the same file system see of it."""

import os
import time
from collections.abc import Callable

# A change within one step of the clock for files leaves a file's time as it is. Steps take 10 ms or less.
_STEP_NS = 20_000_000


def version_of(state: os.stat_result) -> str:
    """As schemas/wire/range_table.h has it."""
    return f"{state.st_size}-{state.st_mtime_ns}"


def settled(look: Callable[[], os.stat_result]) -> os.stat_result:
    """The file's state, from `look`. What is written after this changes its time, so that its version
    tells. Waits some milliseconds for a file that was just written."""
    state = look()
    while 0 <= time.time_ns() - state.st_mtime_ns < _STEP_NS:
        time.sleep(_STEP_NS / 1e9)
        state = look()
    return state
