"""Processes that a test has started."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def children(pid: int) -> dict[int, str]:
    """The children by /proc: pid -> command line."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, file.read_text().split()):
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                found[child] = line.replace(b"\0", b" ").decode()
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def descendants(pid: int) -> dict[int, str]:
    """Processes below this one: pid -> command line."""
    found = {}
    for child, line in children(pid).items():
        found[child] = line
        found.update(descendants(child))
    return found


def kill_processes(word: str) -> None:
    """Kills the processes below this one with the word in their command line; of workers ("
    worker") one."""
    victims = [pid for pid, line in descendants(os.getpid()).items() if word in line]
    assert victims
    for pid in victims if word != " worker" else victims[:1]:
        with suppress(ProcessLookupError):  # gone with its parent
            os.kill(pid, signal.SIGKILL)


def stages() -> dict[int, dict[int, list[int]]]:
    """The Python processes of stages below this one: base -> zygote -> hosts. Which are bases is seen
    in one walk from above: a zygote that ends at that moment must not look like one."""
    bases = {}

    def walk(pid: int) -> None:
        for child, line in children(pid).items():
            if "headrace.stage.host" in line:
                bases[child] = {zygote: list(children(zygote)) for zygote in children(child)}
            else:
                walk(child)

    walk(os.getpid())
    return bases


def zygotes() -> list[int]:
    return [zygote for base in stages().values() for zygote in base]


def hosts() -> list[int]:
    return [host for base in stages().values() for zygote in base.values() for host in zygote]
