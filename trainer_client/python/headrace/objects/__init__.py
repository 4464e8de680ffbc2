"""Data sets of objects in stores: headrace.open_dataset."""

from .folder import ObjectFolder
from .opening import open_dataset

__all__ = ["ObjectFolder", "open_dataset"]
