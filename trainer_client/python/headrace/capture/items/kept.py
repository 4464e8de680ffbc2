"""What a container of the program's holds for each index, as it was when it was copied: annotations."""

import functools
from collections.abc import Callable
from typing import Any

from ...native.targets import fresh
from ...records import dataclass
from ..views.values import Stop
from .columns import Column


@dataclass(frozen=True)
class Data:
    """What the program holds for an index, of all indices. first: of index 0."""

    first: Any
    every: Callable[[], list[Any]]

    def taken(self, take: Callable[[Any], Any]) -> "Data":
        """take(value) of each. Raises Stop."""
        try:
            first = take(self.first)
        except (LookupError, TypeError) as error:
            raise Stop(f"raises {type(error).__name__} for an index: {error}") from None

        @functools.cache
        def every() -> list[Any]:
            try:
                return list(map(take, self.every()))
            except (LookupError, TypeError) as error:
                raise Stop(f"raises {type(error).__name__} for an index: {error}") from None

        return Data(first, every)


class Kept:
    """The entry of a container of the program's, as it was, by a column: the program may change it."""

    def __init__(self, entries: Any, by: Column) -> None:
        self._entries, self._by = entries, by

    def __call__(self, row: int) -> Any:
        return fresh(self._entries[self._by.values()[row]])

    def data(self) -> Data:
        entries, by = self._entries, self._by
        try:
            return Data(entries[by.first], lambda: [entries[at] for at in by.values()])
        except LookupError:
            raise Stop("takes an entry by the index that is not there") from None


def taken(key: Any, of: Any) -> Any:
    return of[key]
