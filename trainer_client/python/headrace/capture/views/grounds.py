"""What a recognition rests on, kept so that it can be looked at again.

Everything that was read while a program's transform was followed: names, attributes, cells, entries
of containers, the code of functions, the classes of objects. A look again takes some tens of
microseconds, as it is taken before each batch with num_workers=0. It runs none of the program's code.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..unchanged import Definitions, Unchanged, is_same

CONTAINERS = (list, tuple, dict, OrderedDict)


class Grounds:
    """One thread. Filled while code is followed; then same() says whether following it again would
    go the same way."""

    def __init__(self) -> None:
        self._reads: dict[tuple[Any, ...], tuple[Callable[[], Any], Any]] = {}
        self._entries: dict[int, tuple[Any, list[Any]]] = {}
        self._objects = Unchanged()
        self._definitions: Definitions | None = None

    def read(self, key: tuple[Any, ...], look: Callable[[], Any]) -> Any:
        """What `look` returns must stay the same: that object, or an equal number or text. Returns
        it. `key` tells this place from others, by numbers of objects that `look` keeps."""
        known = self._reads.get(key)
        if known is None:
            known = self._reads[key] = (look, look())
        return known[1]

    def entries(self, container: Any) -> list[Any]:
        """What the container holds must stay the same: of a dict its keys, then its values. Returns
        it. The container is of exactly one of the types of CONTAINERS."""
        known = self._entries.get(id(container))
        if known is None:
            known = self._entries[id(container)] = (container, _entries_of(container))
        return known[1]

    def hold(self, value: Any) -> None:
        """The object, with all that it holds, and its classes must stay as they are."""
        self._objects.watch(value)

    def close(self) -> None:
        """Nothing more is added."""
        classes = [cls for cls in self._objects.classes if cls.__module__ != "builtins"]
        self._definitions = Definitions(classes)

    def same(self) -> bool:
        """Does all of it stand as it stood?"""
        try:
            return (
                all([is_same(look(), then) for look, then in self._reads.values()])
                and all([_alike(_entries_of(now), then) for now, then in self._entries.values()])
                and self._objects.same()
                and self._definitions is not None
                and self._definitions.same()
            )
        except Exception:  # what was plain when it was read is no longer
            return False


def _entries_of(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [*container.keys(), *container.values()]
    return list(container)


def _alike(now: list[Any], then: list[Any]) -> bool:
    return len(now) == len(then) and all(map(is_same, now, then))
