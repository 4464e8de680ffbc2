"""How the fields of a sample are nested: as the program's data set returns them, and as torch's
default_collate nests the batch.

A structure is a field's number, or an exact list, tuple or dict of structures. Each number comes
once. (image, label) is (0, 1); two views and a label may be ([0, 1], 2).
"""

from collections.abc import Sequence
from typing import Any

Structure = int | list["Structure"] | tuple["Structure", ...] | dict[str | int, "Structure"]


def plain(count: int) -> Structure:
    """A sample that is a tuple of its fields."""
    return tuple(range(count))


def fields_of(structure: Structure) -> list[int]:
    """The numbers in it, in the order in which they stand there."""
    if isinstance(structure, int):
        return [structure]
    parts = structure.values() if isinstance(structure, dict) else structure
    return [number for part in parts for number in fields_of(part)]


def sample_of(structure: Structure, fields: Any) -> Any:
    """The fields of one sample, by their numbers, nested as the data set returns them."""
    if isinstance(structure, int):
        return fields[structure]
    if isinstance(structure, dict):
        return {key: sample_of(part, fields) for key, part in structure.items()}
    parts = [sample_of(part, fields) for part in structure]
    return tuple(parts) if isinstance(structure, tuple) else parts


def batch_of(structure: Structure, fields: Sequence[Any]) -> Any:
    """The fields of a batch, nested as default_collate does: a tuple becomes a list."""
    if isinstance(structure, int):
        return fields[structure]
    if isinstance(structure, dict):
        return {key: batch_of(part, fields) for key, part in structure.items()}
    return [batch_of(part, fields) for part in structure]


def fields_in(structure: Structure, sample: Any) -> list[Any] | None:
    """The fields of a sample by their numbers; None: it is nested in another way."""
    found: dict[int, Any] = {}
    if not _find(structure, sample, found):
        return None
    return [found[number] for number in range(len(found))]


def _find(structure: Structure, sample: Any, found: dict[int, Any]) -> bool:
    if isinstance(structure, int):
        found[structure] = sample
        return True
    if isinstance(structure, dict):
        return (
            type(sample) is dict
            and list(sample) == list(structure)
            and all(_find(part, sample[key], found) for key, part in structure.items())
        )
    kind = list if isinstance(structure, list) else tuple
    return (
        type(sample) is kind
        and len(sample) == len(structure)
        and all(_find(part, item, found) for part, item in zip(structure, sample, strict=True))
    )
