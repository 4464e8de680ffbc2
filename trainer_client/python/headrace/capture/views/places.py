"""Places of the followed code's own that hold pictures, and what a block changes of them."""

from typing import Any

from .follower import Follower, Frame
from .values import Image, Stop


def places_of(frame: Frame) -> list[tuple[Any, Any]]:
    """All containers of the code's own that a block may reach, with copies of them."""
    found: dict[int, tuple[Any, Any]] = {}
    here: Frame | None = frame
    while here is not None:
        _collect(here.names, found)
        here = here.outer
    return list(found.values())


def _collect(value: Any, found: dict[int, tuple[Any, Any]]) -> None:
    if type(value) not in (list, dict, tuple) or id(value) in found:
        return
    found[id(value)] = value, type(value)(value)
    for part in value.values() if type(value) is dict else value:
        _collect(part, found)


def changed_in(
    f: Follower, frame: Frame, before: list[tuple[Any, Any]], start: int, where: str
) -> list[tuple[Any, Any, Image, Image]]:
    """The places that hold other pictures than before: container, key, the picture before and now.
    Names that are new are forgotten. `start`: the first step of the block. `where`: the block, for
    people. Raises Stop."""
    changed = []
    for container, copied in before:
        if type(container) is tuple:
            continue
        if container is frame.names:
            for key in set(container) - set(copied):
                del container[key]
        keys = _keys(container)
        if keys != _keys(copied):
            raise Stop(f"changes a container {where}")
        for key in keys:
            was, now = copied[key], container[key]
            if was is now:
                continue
            was = f.picture(was)
            if type(was) is not Image or type(now) is not Image or now.step < start:
                raise Stop(f"sets {key} {where}")
            changed.append((container, key, was, now))
    return changed


def _keys(container: Any) -> list[Any]:
    return list(container) if type(container) is dict else list(range(len(container)))
