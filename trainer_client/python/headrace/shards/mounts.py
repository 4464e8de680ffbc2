"""One data set made of several places."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch.utils.data import ConcatDataset

from ..objects.folder import ObjectFolder
from .dataset import ShardDataset


def united(name: str, parts: Sequence[tuple[str, Any]]) -> "ConcatDataset[Any]":
    """The data sets one after the other. Their classes are those of one name. `parts`: with what each is
    called. Raises ValueError: some have classes with names, and some have not."""
    without = [called for called, part in parts if not hasattr(part, "classes")]
    made: Any
    if len(without) == len(parts):
        made = ConcatDataset([part for _, part in parts])
    elif without:
        raise ValueError(
            f"labels of {without[0]} are numbers without names, so that nobody knows which of the other "
            "classes they are: its mount needs classes=[...], the name of each number"
        )
    else:
        classes = sorted({one for _, part in parts for one in part.classes})
        made = ConcatDataset([_relabelled(part, classes) for _, part in parts])
        made.classes = classes
        made.class_to_idx = {one: i for i, one in enumerate(classes)}
    if name:
        made.root = name  # which is what it is called in reports
    return made  # type: ignore[no-any-return]


def with_names(called: str, part: Any, classes: Sequence[str]) -> Any:
    """The data set with names for its labels, which are numbers. Raises ValueError."""
    if not isinstance(part, ShardDataset) or hasattr(part, "classes"):
        raise ValueError(f"{called}: its classes have names, those of its folders")
    labels = part.targets
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < len(classes):
        raise ValueError(
            f"{called} has the label {labels.max()}, and classes= names {len(classes)}"
        )
    if len(set(classes)) != len(classes):
        raise ValueError(f"{called}: classes= has a name twice")
    return _of_shards(part, labels, list(classes))


def _of_shards(part: ShardDataset, labels: Any, classes: list[str]) -> ShardDataset:
    index = part.index.with_labels(labels)
    return ShardDataset(part.place, index, part.transform, part.target_transform, classes)


def _relabelled(part: Any, classes: list[str]) -> Any:
    numbers = {one: i for i, one in enumerate(classes)}
    new = np.array([numbers[one] for one in part.classes], np.int64)
    if isinstance(part, ShardDataset):
        labels = part.index.labels
        # In tables -1 means that there is no label.
        return _of_shards(part, np.where(labels < 0, labels, new[labels]), classes)
    if isinstance(part, ObjectFolder):
        numbers_of = new[part.labels].astype(np.int32)
        return ObjectFolder(
            part.store, classes, part.names, numbers_of, part.transform, part.target_transform
        )
    part.samples = part.imgs = [(path, int(new[label])) for path, label in part.samples]
    part.targets = [label for _, label in part.samples]
    part.classes, part.class_to_idx = classes, numbers
    return part


def mounts_in(said: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The name, and what each mount says. Raises ValueError."""
    if unknown := set(said) - {"name", "mounts"}:
        raise ValueError(f"a data set of several mounts has a name and mounts, no {min(unknown)!r}")
    mounts = [
        dict(one) if isinstance(one, Mapping) else {"url": one} for one in said.get("mounts", ())
    ]
    if not mounts or not all("url" in one for one in mounts):
        raise ValueError("each mount needs a url, and a data set needs a mount")
    return str(said.get("name", "")), mounts
