"""A map-style data set of images in shards."""

import io
import operator
from collections.abc import Callable
from typing import Any

from torch.utils.data import Dataset

from ..errors import HeadraceError
from .index import Array, Index
from .members import unpacked
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
        classes: list[str] | None = None,
    ) -> None:
        """`classes`: what labels are called; None: they have no names."""
        self.place, self.index = place, index
        if classes is not None:
            self.classes = classes
            self.class_to_idx = {name: i for i, name in enumerate(classes)}
        self.transform, self.target_transform = transform, target_transform

    @property
    def keys(self) -> Any:
        """What each sample is called, a sequence of str. Of a tar: its members' names up to the first
        point; of a zip and of LMDB: the member's name, the key."""
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

        data = read(of.firsts, of.sizes)
        try:
            if (member := of.member(row)) is not None:
                data = unpacked(data, *member)
            with Image.open(io.BytesIO(data)) as image:
                sample: Any = image.convert("RGB")
        except (UnidentifiedImageError, SyntaxError, HeadraceError) as error:
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
