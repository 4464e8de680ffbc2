"""Bounds the CPU time of threads by a control group of the kernel."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_PERIOD_US = 50_000  # after which the kernel grants new time


def threads(pid: int, name: str) -> list[int]:
    """The threads of the process whose name begins with `name`."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            if (task / "comm").read_text().startswith(name):
                found.append(int(task.name))
    return found


@contextlib.contextmanager
def cpu_limit(tids: list[int]) -> Iterator[Callable[[float], None]]:
    """What sets the cores, 0.1 and so on, that the threads have together from then on. Skips the test
    where no control group can be made: that takes root, and a machine with the CPU controller."""
    cpu = Path("/sys/fs/cgroup/cpu")
    first = cpu.is_dir()  # version of the interface
    root = cpu if first else cpu.parent
    group = root / f"headrace-test-{os.getpid()}-{tids[0]}"
    members = "tasks" if first else "cgroup.threads"

    def limit(cores: float) -> None:
        quota = int(_PERIOD_US * cores)
        if first:
            (group / "cpu.cfs_quota_us").write_text(f"{quota}")
        else:
            (group / "cpu.max").write_text(f"{quota} {_PERIOD_US}")

    def end() -> None:
        """The threads have ended or go where they came from; the kernel takes a moment to see it."""
        for _ in range(500):
            for tid in (group / members).read_text().split():
                with contextlib.suppress(OSError):
                    (root / members).write_text(tid)
            with contextlib.suppress(OSError):
                return group.rmdir()
            time.sleep(0.01)
        raise AssertionError(f"{group} is still in use")

    with contextlib.ExitStack() as stack:
        try:
            group.mkdir()
            stack.callback(end)
            if first:
                (group / "cpu.cfs_period_us").write_text(f"{_PERIOD_US}")
            else:
                (group / "cgroup.type").write_text("threaded")
                (root / "cgroup.subtree_control").write_text("+cpu")
            limit(1)
            for tid in tids:
                (group / members).write_text(f"{tid}")
        except OSError as error:
            pytest.skip(f"no control group to bound threads with: {error}")
        yield limit
