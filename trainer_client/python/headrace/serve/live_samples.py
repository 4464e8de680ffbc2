"""num_workers=0 with a seed for each sample: whether a batch is still what the live data set gives.

The stock loader looks at the live objects at each batch. So what was made of a plan counts only where
the data set's entries, transforms and files, and the library's functions, were the plan's when the batch
was asked for and are it when it is handed out (capture/live.py).
"""

from collections import Counter
from collections.abc import Sequence

from ..capture.live import Live, Stamps
from ..native import binding

_SEEDS = 2**64


class LiveSamples:
    """The live samples of one epoch. One thread. Keys below 0 stand for no row and have no seed
    here."""

    def __init__(self, live: Live, base_seed: int) -> None:
        self._live = live
        self._base_seed = base_seed % _SEEDS
        self._uses: Counter[int] = Counter()
        self._asked: dict[int, tuple[list[int], list[int], Stamps]] = {}  # keys, seeds

    def skip(self, keys: Sequence[int]) -> None:
        """A batch of before: its keys have come."""
        self._uses.update(key for key in keys if key >= 0)

    def asked(self, batch: int, keys: Sequence[int]) -> None:
        seeds = []
        for key in keys:
            seeds.append(-1 if key < 0 else self._seed(key))
            self._uses[key] += 1
        rows = [key for key in keys if key >= 0]
        stamps = self._live.stamps(rows) if self._live.rows_same(rows) else None
        self._asked[batch] = list(keys), seeds, stamps

    def _seed(self, key: int) -> int:
        seed: int = binding.sample_seed(self._base_seed, key, self._uses[key])
        return seed

    def if_changed(self, batch: int) -> tuple[list[int], list[int]] | None:
        """None: the batch is what the data set would give now. Else its keys, and the seeds of its
        samples. Once a batch."""
        keys, seeds, stamps = self._asked.pop(batch)
        rows = [key for key in keys if key >= 0]
        same = (
            stamps is not None
            and self._live.process_same()
            and self._live.objects_same()
            and self._live.rows_same(rows)
            and self._live.stamps(rows) == stamps
        )
        return None if same else (keys, seeds)
