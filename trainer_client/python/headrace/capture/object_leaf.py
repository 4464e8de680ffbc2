"""The leaves of data sets of open_dataset: workers read their images by themselves."""

from typing import Any

import numpy as np

from ..native import binding
from ..native.plan import Leaf, NotNative
from ..objects import ObjectFolder
from ..shards import ShardDataset
from .fingerprint import Fingerprint
from .shard_leaf import leaf_of_shards


def leaf_of(dataset: Any, seen: Fingerprint) -> Leaf | None:
    """None: it is none. Its lists are immutable, so that they are what they were if they are the same.
    Raises NotNative."""
    if type(dataset) is ShardDataset:
        return leaf_of_shards(dataset, seen)
    if type(dataset) is not ObjectFolder:
        return None
    if getattr(type(dataset).__getitem__, "__module__", "") != ObjectFolder.__module__:
        raise NotNative("ObjectFolder.__getitem__ was replaced", "leave it in place")
    store = seen.add_identity(dataset, "store")
    names = seen.add_identity(dataset, "names")
    labels = seen.add_identity(dataset, "labels")
    try:
        table = binding.encode_packed_file_table(
            store.base, names.pool, names.ends.astype(np.uint32), labels.astype(np.int64)
        )
    except ValueError as error:
        raise NotNative(f"{len(names)} names of objects are too many: {error}") from None
    return Leaf("objects", len(names), table, args=store.args())
