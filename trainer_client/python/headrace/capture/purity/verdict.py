"""From what code does to lasting state to whether a worker may run it."""

from collections.abc import Collection
from dataclasses import dataclass

from .events import Event, touches
from .values import AN_ITERATOR, SHARED_GENERATOR


@dataclass(frozen=True)
class Finding:
    """Why a part keeps state. path: "self.count"; where: "Photos.__getitem__ (train.py:12)".
    replays: code that is run again in a fresh process comes to the same state."""

    path: str
    text: str
    where: str
    remedy: str
    replays: bool = False


# What makes each use of an object change it, if it could be pickled.
_REPLAYED_USES = (AN_ITERATOR, SHARED_GENERATOR)


def findings(events: list[Event]) -> list[Finding]:
    """What can't run anywhere else: one finding for each path. State that changes without changing
    a sample is none: what a sample itself puts there before it reads it, what is filled in where it
    is missing, entries kept by the very key by which they are read. The dry run checks these."""
    found: list[Finding] = []
    filled = _filled_once(events)
    events = list(dict.fromkeys(events))  # code that is read twice says the same
    paths = dict.fromkeys(e.path for e in events if e.kind not in ("read", "item", "size"))
    for path in paths:
        finding = _finding(path, [e for e in events if touches(e, path)], filled)
        if finding is not None:
            found.append(finding)
    return found


def _finding(path: str, events: list[Event], filled: Collection[str]) -> Finding | None:
    mine = [event for event in events if event.path == path]
    for event in mine:
        if event.kind == "use":
            return Finding(
                path, f"uses {event.shown}, {event.what}", event.where,
                "open or make it for each sample, or derive what it gives from the index",
                replays=event.what in _REPLAYED_USES,
            )  # fmt: skip
        if event.kind == "seed" and not event.behind.isdisjoint(filled):
            return Finding(
                path, "seeds random generators at its first sample only", event.where,
                "seed in worker_init_fn", replays=True,
            )  # fmt: skip
        if event.kind == "file":
            return Finding(
                path, f"writes files ({path})", event.where,
                "write files before training, or in the training loop",
            )  # fmt: skip
    writes = [event for event in mine if event.kind == "write"]
    if not writes or _is_benign(writes, events, filled):
        return None
    worst = next((e for e in writes if e.derived), writes[0])
    how = "changes" if worst.derived else "sets"
    return Finding(
        path, f"{how} {worst.shown}, which later samples may see", worst.where,
        "derive it from the index and the epoch, or change it between epochs in the training loop",
        replays=True,
    )  # fmt: skip


def _is_benign(writes: list[Event], events: list[Event], filled: Collection[str]) -> bool:
    writes = [write for write in writes if write.behind.isdisjoint(filled)]
    if any(write.derived for write in writes):
        return False
    if all(write.guarded for write in writes):
        return True
    if any(write.what == "global" for write in writes):
        return False
    reads = [e for e in events if e.kind in ("read", "item", "size")]
    if not reads:
        return True
    first = events[0]
    if first.kind == "write" and first.certain and not first.key:
        return True  # what the sample reads is its own
    keys = {write.key for write in writes if not write.guarded}
    kept_by_key = all(e.kind == "size" or e.kind == "item" and e.key in keys for e in reads)
    return "" not in keys and kept_by_key


def _filled_once(events: list[Event]) -> set[str]:
    """Paths that are written only where they are missing, and as a whole: behind the same condition
    everything is done once."""
    writes = [event for event in events if event.kind == "write"]
    others = {w.path for w in writes if w.derived or w.key or not w.guarded}
    return {w.path for w in writes} - others
