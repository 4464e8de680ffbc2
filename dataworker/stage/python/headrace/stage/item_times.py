"""How long a loader's items take, before anybody looks for functions within them (found_calls.py): where none takes as
long as a function must that is worth it, nobody looks. Why so: docs/adr/0114-what-evidence-costs.md."""

import mmap
import time

# What takes less is made again: to name a call and to find its result takes a third of that.
LEAST_SECONDS = 300e-6
_LANES, _WORDS = 64, 3  # nanoseconds, samples and batches of each lane
_LEAST_BATCHES = 2


class ItemTimes:
    """Of the lanes of one loader, in memory that the trainer shares with its forks. In a lane: one thread."""

    def __init__(self) -> None:
        self._words = memoryview(mmap.mmap(-1, _LANES * _WORDS * 8)).cast("q")
        self._before: list[int] | None = (
            None  # of lanes before this one, and this one's clock at its first batch
        )
        self._batches = self._samples = 0

    # In a lane.

    def made(self, lane: int, samples: int) -> None:
        """A batch was made. The first one is not counted, since it prepares what comes after it. The clock is read at
        few batches: each read may cost the process its core."""
        at = lane % _LANES * _WORDS
        if self._before is None:
            self._before = [*self._words[at : at + _WORDS], time.thread_time_ns()]
            return
        self._batches += 1
        self._samples += samples
        if self._batches & (self._batches - 1) == 0:
            seconds, of_samples, batches, began = self._before
            self._words[at] = seconds + time.thread_time_ns() - began
            self._words[at + 1] = of_samples + self._samples
            self._words[at + 2] = batches + self._batches

    # In the trainer.

    def seconds(self, of_batches: bool = False) -> float | None:
        """What a sample took of a lane's CPU, collate and all; None: nobody knows. `of_batches`: a batch."""
        nanoseconds, samples, batches = (sum(self._words[i::_WORDS]) for i in range(_WORDS))
        if batches < _LEAST_BATCHES or samples == 0:
            return None
        return nanoseconds * 1e-9 / (batches if of_batches else samples)


def may_be_long(seconds: float | None) -> bool:
    """Whether functions are looked for within items that take `seconds` each; None: nobody knows."""
    return seconds is None or seconds >= LEAST_SECONDS
