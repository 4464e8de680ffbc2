"""What is decided of calls of declared functions. Nothing here has a side effect."""

from typing import Any

# Results of each function that are made again and compared before any is believed.
FIRST = 32
# Of the CPU time of a lane, what is spent on making results again after these.
SHARE = 0.01
# Entries of one call, of other states of the files that it reads, that are looked at.
MOST_STATES = 8


class Budget:
    """What evidence may cost: a share of what the lane uses, or of what all lanes of its number use. Those of short
    iterations make comparisons together that none of them could afford; and no lane's comparisons take those of another
    loader's lane away. One thread."""

    def __init__(self, kept: Any = None) -> None:
        """`kept`: CPU of lanes, and what was spent of it, ns; where it outlives this lane."""
        self._kept = [0, 0] if kept is None else kept
        self._seen = self._spent = 0  # of this lane, the same

    def takes(self, compared: int, seconds: float, cpu: float) -> bool:
        """Whether a result that takes `seconds` is made again. `compared`: results of its function that were;
        `cpu`: seconds that this process has used since it began to serve."""
        used, wanted = int(cpu * 1e9), int(seconds * 1e9)
        self._kept[0] += used - self._seen
        self._seen = used
        alone = self._spent + wanted <= SHARE * used
        return compared < FIRST or alone or self._kept[1] + wanted <= SHARE * self._kept[0]

    def spend(self, compared: int, seconds: float) -> None:
        """It was, and took so long."""
        if compared >= FIRST:
            self._kept[1] += int(seconds * 1e9)
            self._spent += int(seconds * 1e9)
