"""What a lane tells its worker about the files that it reads next, on the connections of object_reads.py.

AHEAD    first: lane, name: paths, a zero byte after each
         version: keys whose files the worker may remember, decimal, with commas between them
         token: what samples have opened: key, paths, and nothing, a zero byte after each
                -> size: files that were read ahead since the last question, count: those of them that had to be
                   waited for; bytes: the keys that wait for the lane (i64)
"""

import struct
from typing import Any, NamedTuple

from ..process import object_reads
from .leaf_door import NO_STORE, PATIENCE
from .object_reads import Door, checked, question

AHEAD = 9
MOST_BYTES = 24 << 10  # of paths in a question, and of those that were opened


class Question(NamedTuple):
    lane: int
    paths: list[str]  # that are about to be read
    keys: list[int]  # the same, of which the lane can't foretell the files
    opened: list[tuple[int, list[str]]]  # by samples of such keys


class Said(NamedTuple):
    looked_at: int
    waited_for: int
    waiting: list[int]  # keys


class AheadDoor:
    """To the worker that serves this process now."""

    def __init__(self) -> None:
        self._silent: Door | None = None

    def ask(self, asked: Question) -> Said | None:
        """None: there is no worker, or none that reads ahead, or it is silent."""
        door = object_reads.by
        if not isinstance(door, Door) or door is self._silent:
            return None
        try:
            frame = question(
                *(AHEAD, NO_STORE, _ended(asked.paths)),
                first=asked.lane,
                version=",".join(map(str, asked.keys)),
                token="".join(f"{key}\0{_ended(paths)}\0" for key, paths in asked.opened),
            )
            parts = door.exchange(frame, _told, "files ahead", (), PATIENCE)
            checked(parts)
            _, _, looked_at, waited_for = struct.unpack_from("<4Q", parts[0])
            waiting = list(struct.unpack(f"<{len(parts[3]) // 8}q", parts[3]))
            return Said(looked_at, waited_for, waiting)
        except Exception:
            self._silent = door
            return None


def _ended(paths: list[str]) -> str:
    return "".join(f"{path}\0" for path in paths)


def _told(_: Any, parts: list[bytes], __: list[int]) -> list[bytes]:
    return parts
