"""Where each sample of a data set lies in its shards, in few bytes a sample."""

import copy
import hashlib
import os
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ..objects.names import PackedNames
from ..records import dataclass

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Part:
    """The samples of one shard. The arrays have one element a sample, and never change."""

    keys: Array  # uint8: one after the other
    key_ends: Array  # int64
    firsts: Array  # uint64: where the image begins in the shard
    sizes: Array  # uint32: of the image, in bytes
    labels: Array  # int64; empty: targets are read with each sample
    target_firsts: Array  # uint64; empty: they are labels
    target_sizes: Array  # uint32; likewise
    target: str  # what targets are called: "json"; empty: there are none
    # uint32, three a sample: packed size, size and CRC-32 of a zip's member. Empty: a range is the image.
    members: Array = field(default_factory=lambda: np.empty(0, np.uint32))

    def __len__(self) -> int:
        return len(self.firsts)


# By its annotations: it has no fields before its first instance (records.py).
_ARRAYS = [name for name in Part.__annotations__ if name != "target"]
_JOINED = [name for name in _ARRAYS if name not in ("keys", "key_ends")]


class Index:
    """The parts of all shards, one after the other. Immutable; about 40 bytes a sample with keys of 12."""

    def __init__(
        self, shards: Sequence[str], versions: Sequence[str], parts: Sequence[Part]
    ) -> None:
        """Raises ValueError: parts have targets of several kinds."""
        kinds = {part.target for part in parts if len(part)}
        if len(kinds) > 1:
            raise ValueError(
                f"targets are of several kinds ({', '.join(sorted(kinds))}): target= says which counts"
            )
        self.target = kinds.pop() if kinds else ""
        self.shards, self.versions = tuple(shards), tuple(versions)
        self.row_ends = np.cumsum([len(part) for part in parts], dtype=np.uint64)
        self.keys = PackedNames.joined([PackedNames(part.keys, part.key_ends) for part in parts])
        for name in _JOINED:
            joined = np.concatenate([getattr(part, name) for part in parts])
            joined.flags.writeable = False
            setattr(self, name, joined)

    firsts: Array
    sizes: Array
    labels: Array
    target_firsts: Array
    target_sizes: Array
    members: Array

    def __len__(self) -> int:
        return len(self.firsts)

    @property
    def nbytes(self) -> int:
        arrays: list[Array] = [getattr(self, name) for name in _JOINED]
        arrays += [self.keys.pool, self.keys.ends]
        return sum(one.nbytes for one in arrays)

    def member(self, row: int) -> tuple[int, int, int] | None:
        """Packed size, size and CRC-32 of a zip's member; None: its range is the image."""
        if not len(self.members):
            return None
        packed_size, size, crc = self.members[3 * row : 3 * row + 3].tolist()
        return packed_size, size, crc

    def with_labels(self, labels: Array) -> "Index":
        made = copy.copy(self)
        labels.flags.writeable = False
        made.labels = labels
        return made

    def shard_of(self, row: int) -> int:
        return int(np.searchsorted(self.row_ends, row, side="right"))


class KeptIndex:
    """Parts in a folder that the user names, a file for each data set. A part counts for as long as its
    shard has the same version."""

    def __init__(self, folder: str | os.PathLike[str], root: str, rules: str) -> None:
        """`rules`: of all that decides which parts a shard has."""
        name = hashlib.sha256(f"2\n{root}\n{rules}".encode()).hexdigest()[:32]
        self._file = Path(folder) / f"{name}.npz"

    def load(self) -> dict[tuple[str, str], Part]:
        """By shard and version. A file that is damaged holds none."""
        try:
            with self._file.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                return {
                    (str(shard), str(version)): Part(
                        **{name: kept[f"{name}-{i}"] for name in _ARRAYS}, target=str(target)
                    )
                    for i, (shard, version, target) in enumerate(
                        zip(kept["shards"], kept["versions"], kept["targets"], strict=True)
                    )
                }
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return {}

    def save(self, shards: Sequence[str], versions: Sequence[str], parts: Sequence[Part]) -> None:
        """Of the shards that have versions. Whoever reads meanwhile finds the file of before."""
        kept = [one for one in zip(shards, versions, parts, strict=True) if one[1]]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(f".{os.getpid()}.tmp")
        arrays: dict[str, Any] = {
            f"{name}-{i}": getattr(part, name)
            for i, (_, _, part) in enumerate(kept)
            for name in _ARRAYS
        }
        with beside.open("wb") as file:
            np.savez(
                file,
                shards=np.array([one[0] for one in kept], dtype=str),
                versions=np.array([one[1] for one in kept], dtype=str),
                targets=np.array([one[2].target for one in kept], dtype=str),
                **arrays,
            )
        beside.replace(self._file)
