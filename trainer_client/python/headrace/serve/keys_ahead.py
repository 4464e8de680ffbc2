"""The keys that a sampler will yield, without asking it.

With num_workers=0 the stock loader asks the sampler when the program wants a batch. A batch can be
made before that where its keys can be foreseen: a copy of one of torch's own samplers, with a copy of
the generator from which the sampler is about to draw, yields them. The sampler itself is asked when
the stock loader would ask it, and what it says counts.
"""

import contextlib
import copy
import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

# What each looks at beside its generator: a length, or a sequence that it indexes.
_KNOWN = {
    SequentialSampler: "data_source",
    RandomSampler: "data_source",
    SubsetRandomSampler: "indices",
    WeightedRandomSampler: "weights",
    DistributedSampler: "dataset",
}
_PLAIN = (list, tuple, range, torch.Tensor)


class KeysAhead:
    """The keys of one epoch. Draws from no generator of the program and runs none of its code."""

    def __init__(self, batches: Iterator[list[Any]]) -> None:
        self._batches = batches
        self._foreseen: deque[list[Any]] = deque()
        self._skipped = 0

    @classmethod
    def of(cls, batches: Any, dataset: Any) -> "KeysAhead | None":
        """Called just before the batch sampler's first batch. `dataset`: the loader's. None: the
        sampler is not one of torch's."""
        if type(batches) is not BatchSampler:
            return None
        sampler = _copy_of(batches.sampler, dataset)
        if sampler is None:
            return None
        return cls(iter(BatchSampler(sampler, batches.batch_size, batches.drop_last)))

    def peek(self, place: int) -> list[Any] | None:
        """Keys of the batch after `place` others; None: the epoch ends before."""
        while self._skipped > 0:
            self._skipped -= 1
            if self._foreseen:
                self._foreseen.popleft()
            else:
                next(self._batches, None)
        missing = place + 1 - len(self._foreseen)
        self._foreseen.extend(itertools.islice(self._batches, max(0, missing)))
        return self._foreseen[place] if place < len(self._foreseen) else None

    def skip(self) -> None:
        """The sampler has yielded keys that nobody needs to compare."""
        self._skipped += 1

    def passed(self, index: Any) -> bool:
        """The sampler has yielded `index`. False: not what was foreseen, nor will the rest be."""
        with contextlib.suppress(
            Exception
        ):  # entries of the program's own may refuse to be compared
            if self.peek(0) == index:
                self._foreseen.popleft()
                return True
        return False


def _copy_of(sampler: Any, dataset: Any) -> Any:
    """One that yields the same, from a generator of its own; None: not known to."""
    looks_at = _KNOWN.get(type(sampler))
    if looks_at is None:
        return None
    seen = getattr(sampler, looks_at)
    if seen is not dataset and type(seen) not in _PLAIN:
        return None  # code of the program's own
    twin = copy.copy(sampler)
    if not hasattr(sampler, "generator"):
        return twin
    own = sampler.generator
    if own is not None and own.device.type != "cpu":
        return None
    twin.generator = torch.Generator()
    twin.generator.set_state(torch.get_rng_state() if own is None else own.get_state())
    if own is None and type(sampler) is RandomSampler:
        # It draws a seed from the program's generator, and keys from one with that seed.
        seed = torch.empty((), dtype=torch.int64).random_(generator=twin.generator)
        twin.generator.manual_seed(int(seed.item()))
    return twin
