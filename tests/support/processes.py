"""Processes that a test has started."""

from pathlib import Path


def descendants(pid: int) -> dict[int, str]:
    """Processes below this one, by /proc: pid -> command line."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in map(int, file.read_text().split()):
                line = Path(f"/proc/{child}/cmdline").read_bytes()
                found[child] = line.replace(b"\0", b" ").decode()
                found.update(descendants(child))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
