"""How many pictures of files a loader's lanes decode, beyond those that are kept.

Only a picture that nobody has decoded may turn out to be damaged. Where a lane meets few of these, the process that
would begin again takes more than deferring them saves. Why so: docs/adr/0119-few-fresh-pictures.md.
"""

import mmap

LEAST = 24  # of a lane and iteration: deferring them saves what its sleeping fork takes
_LANES = 64


class FreshPictures:
    """Of the lanes of one loader, in memory that the trainer shares with its forks. In a lane: one thread."""

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, _LANES * 8)).cast("q")

    # In a lane.

    def note(self, lane: int, count: int) -> None:
        """`count`: that this process has met."""
        self._counts[lane % _LANES] = count

    # In the trainer.

    def are_many(self) -> bool:
        """Whether a lane met enough of them since this was asked last."""
        most = max(self._counts)
        for lane in range(_LANES):
            self._counts[lane] = 0
        return most >= LEAST
