"""When this program began: before it opened any file."""

import time

_STAT = "/proc/self/stat"
_START = 19  # of the fields after the name: clock ticks since the host began


def _began_ns() -> int:
    import os

    with open(_STAT, encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    ago = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[_START]) / os.sysconf("SC_CLK_TCK")
    return time.time_ns() - int(ago * 1e9)


try:
    # By the system's clock, as times of files are. Forks have their parent's: they have its open files, too.
    ns = _began_ns()
except (OSError, ValueError, IndexError):
    ns = 0  # nothing is known to be older
