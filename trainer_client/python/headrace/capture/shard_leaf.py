"""The leaf of a data set of images in shards: workers read their ranges by themselves."""

from ..native import binding
from ..native.plan import Leaf, NotNative
from ..shards import ShardDataset
from .fingerprint import Fingerprint


def leaf_of_shards(dataset: ShardDataset, seen: Fingerprint) -> Leaf:
    """Its index is immutable, so that it is what it was if it is the same. Raises NotNative."""
    if getattr(type(dataset).__getitem__, "__module__", "") != ShardDataset.__module__:
        raise NotNative("ShardDataset.__getitem__ was replaced", "leave it in place")
    index, place = seen.add_identity(dataset, "index"), seen.add_identity(dataset, "place")
    if len(index.labels) != len(index):
        raise NotNative(
            f"targets (.{index.target}) are no labels",
            "open_dataset(..., target=..., label=...) makes whole numbers of them",
        )
    shards = [name.removeprefix(place.root) for name in index.shards]
    try:
        table = binding.encode_range_table(
            place.root, shards, list(index.versions), index.row_ends, index.firsts, index.sizes,
            index.labels, index.members,
        )  # fmt: skip
    except ValueError as error:
        raise NotNative(f"{len(index)} samples are too many: {error}") from None
    # A worker that knows no members refuses them, in place of taking what is packed for the image.
    args = place.args() | ({"members": 1} if len(index.members) else {})
    return Leaf(place.source, len(index), table, args=args)
