"""A map-style data set of the images below a URL, as torchvision's ImageFolder of a copy on disk."""

import io
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from torch.utils.data import Dataset

from .names import PackedNames, Samples
from .store import Store


class ObjectFolder(Dataset[Any]):
    """Made by headrace.open_dataset. It reads an object for each sample by itself, and a loader that
    Headrace serves has workers read them. It can be pickled and forked, and holds no credential."""

    def __init__(
        self,
        store: Store,
        classes: list[str],
        names: PackedNames,
        labels: "np.ndarray[Any, Any]",  # int32[count]
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        labels.flags.writeable = False
        self.store, self.names, self.labels = store, names, labels
        self.classes = classes
        self.class_to_idx = {name: i for i, name in enumerate(classes)}
        self.transform, self.target_transform = transform, target_transform

    @property
    def root(self) -> str:
        return self.store.base

    @property
    def targets(self) -> "np.ndarray[Any, Any]":
        return self.labels

    @property
    def samples(self) -> Samples:
        """The URL of each object, and its label."""
        return Samples(self.store.base, self.names, self.labels)

    imgs = samples

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        from PIL import Image

        row = range(len(self))[operator.index(index)]
        name = self.store.base + self.names[row]
        with Image.open(io.BytesIO(self.store.reader.read(name))) as image:
            sample: Any = image.convert("RGB")
        target: Any = int(self.labels[row])
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __repr__(self) -> str:
        return f"ObjectFolder({self.root}, {len(self)} objects of {len(self.classes)} classes)"
