"""The processes of a program."""

import pathlib


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
