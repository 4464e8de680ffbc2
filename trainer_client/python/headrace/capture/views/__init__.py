"""Transforms of the program's own that only apply torchvision's, as a small graph.

views.py      what is found: Views
grounds.py    what it was found by, to be looked at again
"""

from .views import SOURCE, Applied, Structure, Views, indices_of

__all__ = ["SOURCE", "Applied", "Structure", "Views", "indices_of"]
