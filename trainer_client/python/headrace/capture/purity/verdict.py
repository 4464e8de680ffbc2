"""From what code does to lasting state to whether a worker may run it."""

from dataclasses import dataclass

from .events import Event, touches


@dataclass(frozen=True)
class Finding:
    """Why a part keeps state. path: "self.count"; where: "Photos.__getitem__ (train.py:12)"."""

    path: str
    text: str
    where: str
    remedy: str


def findings(events: list[Event]) -> list[Finding]:
    """What can't run anywhere else: one finding for each path. State that changes without changing
    a sample is none: what a sample itself puts there before it reads it, what is filled in where it
    is missing, entries kept by the very key by which they are read. The dry run checks these."""
    found: list[Finding] = []
    paths = dict.fromkeys(event.path for event in events)
    for path in paths:
        finding = _finding(path, [e for e in events if touches(e, path)])
        if finding is not None:
            found.append(finding)
    return found


def _finding(path: str, events: list[Event]) -> Finding | None:
    mine = [event for event in events if event.path == path]
    for event in mine:
        if event.kind == "use":
            return Finding(
                path, f"uses {event.shown}, {event.what}", event.where,
                "open or make it for each sample, or derive what it gives from the index",
            )  # fmt: skip
        if event.kind == "file":
            return Finding(
                path, f"writes files ({path})", event.where,
                "write files before training, or in the training loop",
            )  # fmt: skip
    writes = [event for event in mine if event.kind == "write"]
    if not writes or _is_benign(writes, events):
        return None
    worst = next((e for e in writes if e.derived), writes[0])
    how = "changes" if worst.derived else "sets"
    return Finding(
        path, f"{how} {worst.shown}, which later samples may see", worst.where,
        "derive it from the index and the epoch, or change it between epochs in the training loop",
    )  # fmt: skip


def _is_benign(writes: list[Event], events: list[Event]) -> bool:
    if any(write.derived or write.what == "global" for write in writes):
        return False
    reads = [e for e in events if e.kind in ("read", "item") and e not in writes]
    if not reads or all(write.guarded for write in writes):
        return True
    first = next(e for e in events if e.kind != "size")
    if first.kind == "write" and first.certain and not first.key:
        return True  # what the sample reads is its own
    keys = {write.key for write in writes}
    return "" not in keys and all(e.kind == "item" and e.key in keys for e in reads)
