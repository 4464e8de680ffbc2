"""What a loader's program wants done with samples that can't be made."""

from typing import Any

from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from ..stage.bad_samples import Policy
from . import options

# Samplers that take every sample of their data set; of their own types, as others may do anything.
_COVER_ALL = (SequentialSampler, RandomSampler, DistributedSampler)


def policy_of(loader: Any) -> Policy:
    """From the loader itself, or from the environment."""
    given = options.from_environment()
    way = getattr(loader, "on_bad_sample", None) or given.on_bad_sample
    return Policy(way, given.max_bad_samples, given.code_deadline, _covers_all(loader))


def _covers_all(loader: Any) -> bool:
    sampler = getattr(loader, "sampler", None)
    batches = getattr(loader, "batch_sampler", None)
    if batches is not None:
        sampler = getattr(batches, "sampler", None)
    if type(sampler) not in _COVER_ALL:
        return False
    source = getattr(sampler, "data_source", getattr(sampler, "dataset", None))
    return source is loader.dataset
