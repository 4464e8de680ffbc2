"""Which sample of a batch ended the workers that had it.

Two workers were lost with the batch, and the trainer's reference has made its samples one by one, each
with its memory measured. Pure. What can't be told here is told when the sample is in a second such
batch (trainer_client/session/bad_samples.h).
"""

from ..records import dataclass

_LEAST_BYTES = 64 << 20  # a sample that takes less ends no worker by its memory
_TIMES = 4  # as much as any other sample of the batch takes


@dataclass(frozen=True)
class Measured:
    """One sample that the reference was asked for."""

    position: int
    peak_bytes: int
    error: str = ""  # what it raised, or how it ended the process; empty: it was made


def blame(batch: list[Measured]) -> dict[int, str]:
    """Positions of samples that are not to be given to workers any more, with why."""
    failed = {one.position: one.error for one in batch if one.error}
    if failed:
        return failed
    by_size = sorted(batch, key=lambda one: one.peak_bytes, reverse=True)
    if not by_size or by_size[0].peak_bytes < _LEAST_BYTES:
        return {}
    if len(by_size) > 1 and by_size[0].peak_bytes < _TIMES * by_size[1].peak_bytes:
        return {}
    return {by_size[0].position: f"it takes {by_size[0].peak_bytes >> 20} MiB of memory"}
