"""What a recognition rests on, kept so that it can be looked at again.

Everything that was read while a program's transform was followed: names, attributes, cells, entries
of containers, the code of functions, the classes of objects. Looked at again in some tens of
microseconds, before a batch with num_workers=0; runs none of the program's code.
"""

from collections.abc import Callable
from typing import Any

from ..unchanged import Definitions, Unchanged


class Grounds:
    """One thread. Filled while code is followed; then same() says whether following it again would
    go the same way."""

    def __init__(self) -> None:
        self._reads: dict[tuple[Any, ...], tuple[Callable[[], Any], Any]] = {}
        self._objects = Unchanged()
        self._classes: dict[type, None] = {}
        self._definitions: Definitions | None = None

    def read(self, key: tuple[Any, ...], look: Callable[[], Any]) -> Any:
        """What `look` returns must stay the very same object. Returns it. `key`: tells this place
        from others, by objects that `look` keeps."""
        known = self._reads.get(key)
        if known is None:
            known = self._reads[key] = (look, look())
        return known[1]

    def hold(self, value: Any) -> None:
        """The object, with all that it holds, must stay as it is."""
        self._objects.watch(value)

    def define(self, cls: type) -> None:
        """The class and its bases must keep what they define."""
        self._classes.update(dict.fromkeys(base for base in cls.__mro__ if base is not object))

    def close(self) -> None:
        """Nothing more is added."""
        held = [cls for cls in self._objects.classes if cls.__module__ != "builtins"]
        self._definitions = Definitions([*dict.fromkeys([*self._classes, *held])])

    def same(self) -> bool:
        """Does all of it stand as it stood?"""
        return (
            all([look() is then for look, then in self._reads.values()])
            and self._objects.same()
            and self._definitions is not None
            and self._definitions.same()
        )
