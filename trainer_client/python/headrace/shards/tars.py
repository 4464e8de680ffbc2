"""Tars in WebDataset's layout."""

from collections.abc import Sequence

from ..native import binding
from ..records import dataclass
from .index import Part
from .listing import scanned
from .places import Reader
from .rules import Rules, part_of


@dataclass(frozen=True)
class Tars:
    """See Format."""

    rules: Rules
    what = "tar"

    @property
    def text(self) -> str:
        return self.rules.text

    def part(self, reader: Reader, near: bool) -> Part:
        rules = self.rules
        scan = binding.TarScan(reader.size, list(rules.images), list(rules.targets), rules.kept)
        return part_of(reader.name, scanned(reader, near, scan), rules)

    def labelled(
        self, shards: Sequence[str], parts: Sequence[Part]
    ) -> tuple[list[Part], list[str] | None]:
        return list(parts), None  # each tar says what its labels are
