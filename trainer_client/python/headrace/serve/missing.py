"""The missing samples of a delivered batch, made one after the other as a worker of the stock loader
would make them.

Every sample of a lane draws from where the one before it left the generator. What workers made of a
batch was drawn as planned, so it holds only as long as the samples made here draw what was planned
for them. They do not if a file was replaced, or if code draws as it likes. Then the rest of the
batch is made here, and the lane after it is planned again.
"""

from collections.abc import Callable
from typing import Any

from ..admission import samples

# position, key, torch_state, seed: see samples.make
Make = Callable[[int, int, bytes, Any], samples.Made]


# position, key, what was raised: whether the batch goes on without the sample
GoesOn = Callable[[int, samples.Made], bool]


class Failed(Exception):
    """A sample raised, as it would have in the stock loader."""

    def __init__(self, made: samples.Made) -> None:
        super().__init__(made.error)
        self.made = made


def _ends(position: int, sample: samples.Made) -> bool:
    return False


def make_missing(
    batch: Any,
    make: Make,
    made_before: Callable[[int], samples.Made | None],
    replan: Callable[[bytes], None],
    goes_on: GoesOn = _ends,
) -> dict[int, Any]:
    """The samples by position. `made_before`: takes what the planner asked for, if that position was.
    `replan`: plans what follows the batch in its lane from this random state. Raises Failed at the
    first sample that does not come, unless `goes_on`: then it is left out."""
    made: dict[int, Any] = {}
    missing = {sample.position: sample for sample in batch.missing}
    state = b""  # of the lane, once it is not the planned one
    for position, key in enumerate(batch.keys):
        gap = missing.get(position)
        if gap is None and not state:
            continue
        before = made_before(position)
        if state:
            sample = make(position, key, state, None)
        elif before is not None:
            sample = before
        else:
            assert gap is not None
            sample = make(position, key, gap.torch_state, gap.seed)
        if sample.error is not None and not goes_on(position, sample):
            if state or (gap is not None and gap.torch_state and not sample.resolved):
                replan(sample.state_after)
            raise Failed(sample)
        if sample.error is None:
            made[position] = sample.value
        if state or (gap is not None and _left_the_plan(gap, sample)):
            state = sample.state_after
    if state:
        replan(state)
    return made


def make_all(
    batch: Any,
    make: Make,
    made_before: Callable[[int], samples.Made | None],
    replan: Callable[[bytes], None],
    goes_on: GoesOn = _ends,
) -> dict[int, Any]:
    """All samples of a batch that tells what was drawn, by position. Otherwise as make_missing."""
    made: dict[int, Any] = {}
    state = batch.drawn.torch_state
    for position, key in enumerate(batch.keys):
        made_before(position)  # which is not asked for again
        sample = make(position, key, state, None)
        state = sample.state_after
        if sample.error is not None and not goes_on(position, sample):
            replan(state)
            raise Failed(sample)
        if sample.error is None:
            made[position] = sample.value
    replan(state)
    return made


def _left_the_plan(gap: Any, sample: samples.Made) -> bool:
    return bool(
        gap.torch_state_after
        and not sample.resolved
        and gap.torch_state_after != sample.state_after
    )
