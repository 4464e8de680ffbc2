"""Which modules there are, asked again and again."""

import itertools
import sys


class ModuleTable:
    """Looking at a name writes a count into it, and a fork then has a copy of its own: so only new ones
    are looked at. It does not notice a module that comes while two go and the last one comes again: what
    decides about bits looks at all of them first, and asks here in forks alone. One thread at a time."""

    def __init__(self) -> None:
        self._size, self._last = 0, ""

    def news(self) -> tuple[bool, list[str]]:
        """Whether all modules of the last look are still there, and the names of those that are new; of
        all where some have gone."""
        last = self._last
        try:  # new ones are at the end of the table
            new = list(itertools.takewhile(lambda name: name != last, reversed(sys.modules)))
        except RuntimeError:  # another thread imports
            new = []
        kept = bool(self._size) and self._size + len(new) == len(sys.modules)
        names = new[::-1] if kept else list(sys.modules)
        self._size = len(names) + (self._size if kept else 0)
        self._last = names[-1] if names else last
        return kept, names
