"""Keys of a batch whose samples each have a seed of their own (RngMode sample)."""

from collections.abc import Iterator
from typing import Any

from .randomness import seed_sample


def seeded(index: Any, seeds: list[int], roots: dict[str, Any], by_item: bool) -> Any:
    """What a fetcher is asked for. `seeds`: one a sample, or none. `by_item`: the index is a list of keys."""
    if not seeds:
        return index
    if by_item and not getattr(roots["dataset"], "__getitems__", None):
        return SeededKeys(index, seeds, roots)
    seed_sample(seeds[0], roots)  # made in one call: there is one seed for all
    return index


class SeededKeys(list[Any]):
    """Keys that seed the generators for a sample when it is asked for."""

    def __init__(self, keys: list[Any], seeds: list[int], roots: dict[str, Any]) -> None:
        super().__init__(keys)
        self._seeds, self._roots = seeds, roots

    def __iter__(self) -> Iterator[Any]:
        for key, seed in zip(super().__iter__(), self._seeds, strict=True):
            seed_sample(seed, self._roots)
            yield key
