"""Labels of samples that have names: of the folder that a name lies in, or by the program's word."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..errors import HeadraceError
from ..objects.names import PackedNames
from .index import Array, Part


def called(shard: str, names: Sequence[str], label: Callable[[str], int]) -> Array:
    """What `label` says of each name. Raises HeadraceError, which names the shard and the sample."""
    labels = np.empty(len(names), np.int64)
    for row, name in enumerate(names):
        try:
            labels[row] = label(name)
        except (ValueError, OverflowError, TypeError, LookupError) as error:
            raise HeadraceError(
                f"{shard}: label= gives no whole number of 64 bits for '{name}': {error}"
            ) from error
    return labels


def by_folder(parts: Sequence[Part], folder: str) -> tuple[list[Part], list[str]]:
    """Labels of the folders below `folder` that samples lie in; each is a class, and those of one name are
    one, in whatever part. REQUIRES: all names begin with `folder`, and have another "/" later."""
    runs = [_runs(PackedNames(part.keys, part.key_ends), len(folder)) for part in parts]
    classes = sorted({name for of_part in runs for name, _ in of_part})
    numbers = {name: i for i, name in enumerate(classes)}
    made = []
    for part, of_part in zip(parts, runs, strict=True):
        of_runs = np.array([numbers[name] for name, _ in of_part], np.int64)
        counts = np.array([count for _, count in of_part], np.int64)
        made.append(replace(part, labels=np.repeat(of_runs, counts)))
    return made, classes


def _runs(names: PackedNames, begin: int) -> list[tuple[str, int]]:
    """How many neighbours lie in the same class."""
    runs: list[tuple[str, int]] = []
    last, count = "", 0
    for name in names:
        if count and name.startswith(last, begin):
            count += 1
            continue
        if count:
            runs.append((last[:-1], count))
        last, count = name[begin : name.index("/", begin) + 1], 1
    return [*runs, (last[:-1], count)] if count else runs
