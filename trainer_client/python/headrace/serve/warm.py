"""`headrace run --warm`: the cache of the program's first loader is filled, and the program ends."""

import time
from collections.abc import Callable
from typing import Any, NoReturn

from ..capture import NativePlan, Served, StaysLocal
from ..service import service
from ..service.report import print_line
from .loader_state import LoaderState
from .served import session_key

_LOOK_S = 0.25
_SAY_S = 5.0
_STEADY_S = 3.0  # without a new entry, where the coordinator calls it steady
_STUCK_S = 60.0  # without a new entry, where it does not


class Filling:
    """Whether the cache has all that it will have. Pure: told what is seen, and when (seconds)."""

    def __init__(self, now: float) -> None:
        self._entries = -1
        self._grown = now

    def look(self, now: float, seen: dict[str, Any]) -> str:
        """`seen`: as Client.data(). "full", "steady" (as much as there is room for), "stuck", or
        "filling"."""
        if seen["entries"] != self._entries:
            self._entries, self._grown = seen["entries"], now
        if seen["name"] and 0 < seen["rows"] <= seen["entries"]:
            return "full"
        still = now - self._grown
        if seen["phase"] == "steady" and seen["entries"] > 0 and still >= _STEADY_S:
            return "steady"
        return "stuck" if still >= _STUCK_S else "filling"


def warm_and_end(
    loader: Any,
    state: LoaderState,
    captured: Served | StaysLocal,
    clock: Callable[[], float] = time.monotonic,
) -> NoReturn:
    """Raises SystemExit: 0 if the data set is cached as far as there is room."""
    if not isinstance(captured, NativePlan):
        why = getattr(captured, "reason", "")
        raise SystemExit(
            f"headrace: {captured.name} cannot be warmed, for workers do not make its samples "
            f"natively: {why}"
        )
    window = (loader.prefetch_factor or 2) * max(1, loader.num_workers)
    session = state.open_session(captured, session_key(loader, captured, window))
    try:
        end = _wait(captured.name, clock)
    finally:
        session.close()
    raise SystemExit(end)


def _wait(name: str, clock: Callable[[], float]) -> str | None:
    """What to end the program with; None: all is well."""
    filling = Filling(clock())
    say_at = clock() + _SAY_S
    while True:
        seen = service.call(service.client().data)
        state = filling.look(clock(), seen)
        if state in ("full", "steady"):
            room = "" if state == "full" else ", as many as there is room for"
            print_line(
                f"headrace: {name} is cached: {_amount(seen)}{room}. "
                "The program ends before its first batch (--warm)"
            )
            return None
        if state == "stuck":
            return (
                f"headrace: {name} is not filled any further: {_amount(seen)}, "
                f"{seen['phase'] or 'not known'}; `headrace datasets` says who has the room, and "
                "`headrace workers` who is unfit"
            )
        if clock() >= say_at:
            say_at = clock() + _SAY_S
            print_line(f"headrace: {name} is filled: {_amount(seen)}")
        time.sleep(_LOOK_S)


def _amount(seen: dict[str, Any]) -> str:
    large = seen["bytes"] >= 1e9
    size = f"{seen['bytes'] / 1e9:.1f} GB" if large else f"{seen['bytes'] / 1e6:.1f} MB"
    return f"{seen['entries']:,} of {seen['rows']:,} samples, {size}"
