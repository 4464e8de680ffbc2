"""Keys of a batch whose samples each have a seed of their own (RngMode sample)."""

from collections.abc import Iterator
from typing import Any

from .randomness import seed_sample


class SeededKeys(list[Any]):
    """Keys that seed the generators for a sample when it is asked for."""

    def __init__(self, keys: list[Any], seeds: list[int], roots: dict[str, Any]) -> None:
        super().__init__(keys)
        self._seeds, self._roots = seeds, roots

    def __iter__(self) -> Iterator[Any]:
        for key, seed in zip(super().__iter__(), self._seeds, strict=True):
            seed_sample(seed, self._roots)
            yield key
