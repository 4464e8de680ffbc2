"""What a process has found out about a native form of something that a library does."""

from typing import Any, NamedTuple


class Finding(NamedTuple):
    same: bool  # as the library's own
    checked: int = 0  # results that were made both ways, and were equal
    like: Any = None  # of what kind they are, where that matters


# By kind: what was compared, and what was found.
FoundOut = dict[str, dict[Any, Finding]]


def merge(known: FoundOut, more: FoundOut) -> None:
    """Adds to `known`. One difference outweighs all that was equal."""
    for kind, findings in more.items():
        here = known.setdefault(kind, {})
        for what, finding in findings.items():
            here[what] = max(here.get(what, finding), finding, key=_weight)


def _weight(finding: Finding) -> tuple[bool, int]:
    return not finding.same, finding.checked
