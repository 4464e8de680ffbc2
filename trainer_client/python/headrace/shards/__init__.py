"""Data sets whose samples are parts of larger files or objects, and headrace.open_dataset."""

from .dataset import ShardDataset
from .opening import open_dataset

__all__ = ["ShardDataset", "open_dataset"]
