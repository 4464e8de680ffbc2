"""Code that keeps state from sample to sample: whether a lane that is run again has it again.

Then the loader's lanes are replayed where their worker is lost, as those of iterable datasets are.
Why so: docs/adr/0019-lanes-with-state.md.
"""

import sys
from typing import Any

from ..hook import STATEFUL
from .plan import Local
from .purity import findings_of

# Of one lane in an epoch: four bytes of each travel with every batch.
_MOST_SAMPLES = 1 << 21
_BATCH = 256  # samples, where a batch_sampler of the program's own makes the batches


def kept_state(loader: Any) -> tuple[str, str]:
    """How the loader's code keeps state, by its text, and what would change that; empty: it keeps
    none. Raises Local where its lanes can't be replayed."""
    found = findings_of(loader)
    for finding in found:
        if not finding.replays:
            raise Local(f"{finding.where} {finding.text}", finding.remedy)
    if not found:
        return "", ""
    how = f"{found[0].where} {found[0].text}"
    check_replayable(loader, how, found[0].remedy)
    return how, found[0].remedy


def check_replayable(loader: Any, how: str, remedy: str) -> None:
    """Raises Local. `how`: as kept_state says it."""
    torchdata = sys.modules.get(STATEFUL)
    if torchdata is not None and isinstance(loader, torchdata.StatefulDataLoader):
        raise Local(f"{how}, and StatefulDataLoader keeps states of its workers", remedy)
    if loader.persistent_workers:
        raise Local(f"{how}, and persistent_workers=True makes that last", remedy)
    try:
        batches = len(loader)
    except Exception:
        batches = _MOST_SAMPLES * loader.num_workers  # as many as it likes
    if batches * (loader.batch_size or _BATCH) > _MOST_SAMPLES * loader.num_workers:
        raise Local(f"{how}, and its epochs are too long to be run again", remedy)
