"""A map-style data set of images in shards."""

import io
import operator
from collections.abc import Callable
from typing import Any

from torch.utils.data import Dataset

from .index import Array, Index
from .places import Place
from .rules import target_of


class ShardDataset(Dataset[Any]):
    """Made by headrace.open_dataset. It reads a range of a shard for each sample by itself, and a loader
    that Headrace serves has workers read them. It can be pickled and forked, and holds no credential."""

    def __init__(
        self,
        place: Place,
        index: Index,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        self.place, self.index = place, index
        self.transform, self.target_transform = transform, target_transform

    @property
    def keys(self) -> Any:
        """What its members are called up to the first point, for each sample: a sequence of str."""
        return self.index.keys

    @property
    def targets(self) -> Array:
        """The label of each sample. Raises AttributeError where targets are no labels."""
        if len(self.index.labels) != len(self.index):
            raise AttributeError("targets are read with each sample; label= makes labels of them")
        return self.index.labels

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        from PIL import Image, UnidentifiedImageError

        of = self.index
        row = range(len(self))[operator.index(index)]
        shard = of.shard_of(row)
        name, version = of.shards[shard], of.versions[shard]

        def read(firsts: Array, sizes: Array) -> bytes:
            return self.place.read(name, version, int(firsts[row]), int(sizes[row]))

        try:
            with Image.open(io.BytesIO(read(of.firsts, of.sizes))) as image:
                sample: Any = image.convert("RGB")
        except (UnidentifiedImageError, SyntaxError) as error:
            raise type(error)(f"{name}, sample '{of.keys[row]}': {error}") from error
        if len(of.labels) == len(of):
            target: Any = int(of.labels[row])
        else:
            target = target_of(of.target, read(of.target_firsts, of.target_sizes))
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __repr__(self) -> str:
        return f"ShardDataset({len(self)} samples in {len(self.index.shards)} shards)"
