"""The rest of an epoch, for another number of ranks, workers or samples a batch than it began with.

All ranks of a DistributedSampler walk through one order, each taking every n-th key, so what they
have taken together is a prefix of it, and the rest is shared out again.
"""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from torch.utils.data import BatchSampler, DistributedSampler
from torch.utils.data.dataloader import _DatasetKind

from ..errors import StateError
from .state import LoaderPlace, seed_behind


def shape_of(loader: Any) -> tuple[int | None, int | None]:
    """Keys in a batch and number of ranks; None where they can't be seen."""
    sampler, batch_size = loader.sampler, 1
    if loader.batch_sampler is not None:
        if type(loader.batch_sampler) is not BatchSampler:
            return None, None
        sampler, batch_size = loader.batch_sampler.sampler, loader.batch_sampler.batch_size
    return batch_size, sampler.num_replicas if type(sampler) is DistributedSampler else None


def fit(place: LoaderPlace, loader: Any) -> tuple[LoaderPlace, str]:
    """The place for this loader, and what is not as it would have been. Raises StateError."""
    changes = []
    batch_size, replicas = shape_of(loader)
    streams = loader._dataset_kind == _DatasetKind.Iterable
    if place.num_workers != loader.num_workers:
        changes.append(f"num_workers={place.num_workers}, now {loader.num_workers}")
    if place.mid_epoch and place.batch_size != batch_size:
        changes.append(f"batch_size={place.batch_size}, now {batch_size}")
    if place.mid_epoch and place.replicas != replicas:
        changes.append(f"{place.replicas} ranks, now {replicas}")
    if not changes:
        return place, ""
    text = f"the state is of {', and of '.join(changes)}"
    if place.mid_epoch and streams:
        raise StateError(f"load_state_dict: {text}: an IterableDataset cannot go on so")
    reshaped = len(changes) > (place.num_workers != loader.num_workers)
    if reshaped:
        seen = place.batch_size is not None and batch_size is not None
        if not seen or (place.replicas is None) != (replicas is None):
            raise StateError(f"load_state_dict: {text}: its samplers cannot be shared out anew")
    place = replace(place, num_workers=loader.num_workers, lane_draws=None, lane_states=None)
    if place.base_seed is not None and place.rng != "sample":
        place.base_seed = seed_behind(place.base_seed)
    if reshaped:
        assert place.batch_size is not None  # seen above
        place.taken += place.batches * place.batch_size * (place.replicas or 1)
        place.batches, place.batch_size, place.replicas = 0, batch_size, replicas
    place.lanes_from = place.batches
    if place.rng != "torch":
        return place, ""
    return place, f"goes on with the same samples and other random numbers: {text}"


def rest_of(sampler: Any, batch_sampler: Any, taken: int) -> Iterator[Any]:
    """What the index sampler would yield after the first `taken` keys of all ranks together."""
    if type(sampler) is DistributedSampler:
        keys: Iterable[Any] = _share(sampler, taken)
    else:
        keys = itertools.islice(iter(sampler), taken, None)
    if batch_sampler is None:
        return iter(keys)
    return iter(BatchSampler(keys, batch_sampler.batch_size, batch_sampler.drop_last))


def _share(sampler: "DistributedSampler[Any]", taken: int) -> list[int]:
    """This rank's keys, as many as every rank's."""
    whole: DistributedSampler[Any] = DistributedSampler(
        sampler.dataset, 1, 0, sampler.shuffle, sampler.seed
    )
    whole.set_epoch(sampler.epoch)
    rest = list(whole)[taken:]
    ranks = sampler.num_replicas
    if sampler.drop_last:
        rest = rest[: len(rest) // ranks * ranks]
    elif rest:
        missing = -len(rest) % ranks
        rest += (rest * (missing // len(rest) + 1))[:missing]
    return rest[sampler.rank :: ranks]
