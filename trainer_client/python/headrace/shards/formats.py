"""What kinds of shards have in common."""

from collections.abc import Sequence
from typing import Protocol

from .index import Part
from .places import Reader


class Format(Protocol):
    """How the samples of one kind of shard are found."""

    what: str  # a shard is called: "tar"

    @property
    def text(self) -> str:
        """All that decides which parts a shard has: what is kept of it counts for no other."""
        ...

    def part(self, reader: Reader, near: bool) -> Part:
        """The samples of one shard. Raises HeadraceError, which names the shard."""
        ...

    def labelled(
        self, shards: Sequence[str], parts: Sequence[Part]
    ) -> tuple[list[Part], list[str] | None]:
        """The parts with their labels, and the names of the classes; None: labels are numbers without
        names. Raises HeadraceError and ValueError."""
        ...
