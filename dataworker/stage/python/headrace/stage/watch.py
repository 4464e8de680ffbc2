"""Whether a lane's code is seen to keep state: pictures of what it can reach (reach.py), before the first
batch and after later ones.

Each picture is compared with the one before it, so what any batch between them changed is seen. After
each of the first FIRST batches one is taken; then one after EVERY batches, and not before the batches
since the last one took SHARE times as long as a picture takes. Filling in what was missing is no change
where the text of the code proves that no sample can see it (headrace.capture.proof.fills). Otherwise it
is one, less an object that can't be looked into in the place of None or of nothing: a file that is opened
when it is first read. Why so: docs/adr/0029-state-seen.md.
"""

import math
import time
from collections.abc import Callable
from typing import Any

from .reach import RANDOM, Kind, Opaque, Picture, picture, spelled
from .reach_parts import Step, Token

FIRST = 3
EVERY = 256
SHARE = 200

_LONGEST = 60
_NOTHING = object()


class Watch:
    """Watches one process's lane. One thread. `parts`: as picture's. `fills`: that filling in is
    proved to be none. `clock`: seconds."""

    def __init__(
        self,
        parts: dict[str, Any],
        fills: bool,
        clock: Callable[[], float] = time.perf_counter,
        look: Callable[[dict[str, Any]], Picture] = picture,
    ) -> None:
        self._parts, self._fills, self._clock, self._look = parts, fills, clock, look
        self._last: Picture | None = None
        self._told = False
        self._batches = 0  # in all, and
        self._since, self._seconds = 0, 0.0  # since the last picture
        self._cost = 0.0  # of that one, seconds
        self._began = 0.0

    def before(self) -> None:
        """A batch is about to be made."""
        if self._told:
            return
        if self._last is None:
            self._last = self._take()
        self._began = self._clock()

    def after(self) -> str:
        """Called after the batch was made. Returns once what the code was seen to have changed;
        otherwise empty."""
        if self._told or self._last is None:
            return ""
        self._seconds += self._clock() - self._began
        self._batches += 1
        self._since += 1
        due = self._since >= EVERY and self._seconds >= SHARE * self._cost
        if self._batches > FIRST and not due:
            return ""
        before, self._last = self._last, self._take()
        self._since, self._seconds = 0, 0.0
        found = change(before, self._last, self._fills)
        self._told = bool(found)
        return found

    def _take(self) -> Picture:
        began = self._clock()
        taken = self._look(self._parts)
        self._cost = self._clock() - began
        return taken


def change(before: Picture, after: Picture, fills: bool) -> str:
    """The first place of which both pictures tell, and tell otherwise; empty: there is none."""
    if before == after:
        return ""
    were, are = before.places(), after.places()
    seen_before, seen_after = _depth(before, were), _depth(after, are)
    for path in [*were, *(path for path in are if path not in were)]:
        was, now = were.get(path, _NOTHING), are.get(path, _NOTHING)
        if was == now or (now is _NOTHING and len(path) > seen_after):
            continue
        if was is _NOTHING and (len(path) > seen_before or _is_within(path, were, are)):
            continue
        if not _fills_in(was, now, fills):
            return f"{spelled(path)} {_told(was, now)}"
    return ""


def _depth(taken: Picture, places: dict[Any, Token]) -> float:
    """How deep all was seen: nearest is first."""
    return math.inf if taken.complete else max(map(len, places), default=1) - 1


def _is_within(path: tuple[Step, ...], were: dict[Any, Token], are: dict[Any, Token]) -> bool:
    """Whether a new place is in something that was said, or allowed, to be new itself."""
    above = path[:-1]
    if not above or above not in are:
        return False
    if above not in were:
        return True
    was, now = were[above], are[above]
    return was is None and now is not None


def _fills_in(was: Token, now: Token, fills: bool) -> bool:
    missing = was is None or was is _NOTHING
    if missing and (type(now) is Opaque or now == RANDOM):  # as a lane's state comes with
        return True
    if not fills:
        return False
    if missing:
        return True
    return (  # a dict that has grown by keys
        type(was) is Kind and type(now) is Kind and was.name == now.name and "dict" in was.name.lower()
        and was.length < now.length
    )  # fmt: skip


def _told(was: Token, now: Token) -> str:
    if was is _NOTHING:
        return f"is new: {_short(now)}"
    if now is _NOTHING:
        return f"is gone, it was {_short(was)}"
    if type(was) is Kind and type(now) is Kind and was.name == now.name and was.length >= 0:
        return f"had {was.length} items and has {now.length}"
    if isinstance(was, tuple) and isinstance(now, tuple):
        return "has other content"
    return f"was {_short(was)} and is {_short(now)}"


def _short(token: Token) -> str:
    if isinstance(token, tuple):
        return str(token[0])
    text = str(token) if isinstance(token, Kind | Opaque) else repr(token)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
