"""The processes of a program."""

import ctypes
import os
import pathlib

_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Processes below this one whose parents end become its children, and so stay below it."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def cpu_below(root: int) -> float:
    """CPU seconds of all processes that are, or were, below `root`, which adopts orphans and reaps none
    meanwhile. Of those that have been waited for, too."""
    stats: dict[int, list[str]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stats[int(entry.name)] = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue  # gone meanwhile
    children: dict[int, list[int]] = {}
    for pid, fields in stats.items():
        children.setdefault(int(fields[1]), []).append(pid)
    # utime, stime, and those of children that were waited for.
    ticks, queue = sum(map(int, stats[root][13:15])), [root]
    while queue:
        for child in children.get(queue.pop(), []):
            ticks += sum(map(int, stats[child][11:15]))
            queue.append(child)
    return ticks / _TICKS


def processes_below(pid: int) -> dict[int, str]:
    """{pid: command line} of every descendant of `pid`."""
    children: dict[int, list[int]] = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue  # gone meanwhile
            children.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found, queue = {}, [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            try:
                words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            found[child] = words.replace(b"\0", b" ").decode()
            queue.append(child)
    return found
