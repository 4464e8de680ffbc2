"""Transforms that do more than to apply torchvision's, each in one thing; none of them may be run."""

from . import calls, chance, objects, statements
from .base import CASES, RAN, Base

__all__ = ["CASES", "RAN", "Base", "calls", "chance", "objects", "statements"]
