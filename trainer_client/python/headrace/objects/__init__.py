"""Data sets of objects in stores."""

from .folder import ObjectFolder
from .opening import open_folder

__all__ = ["ObjectFolder", "open_folder"]
