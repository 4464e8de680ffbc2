"""Whether a data set was read before: some programs make a new loader for each epoch."""

import weakref
from typing import Any


class ReadBefore:
    """Of data sets that are one object. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Any]] = {}

    def note(self, data_set: Any) -> bool:
        """Whether it was noted before."""
        known = self._known.get(id(data_set))
        if known is not None and known() is data_set:
            return True
        self._known = {key: ref for key, ref in self._known.items() if ref() is not None}
        try:
            self._known[id(data_set)] = weakref.ref(data_set)
        except TypeError:  # a list
            pass
        return False
