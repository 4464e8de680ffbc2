"""Transforms of the program's own that only apply torchvision's, as a small graph.

    steps.py       steps_or_views: its single transforms, or its views
    recognise.py   views_of: follows the code, and puts together what was found
    views.py       what is found: Views
    grounds.py     what it was found by, to be looked at again
    follower.py    one following: frames, names, the transforms applied so far
    values.py      what an expression may stand for; Stop, which ends a following
    stacked.py     torch.stack of what was made of the picture; constructed.py: `ToTensor()` in the code
    opened.py      opened_by: a loader that opens pictures with OpenCV; arrays.py: what is done to them
    statements.py, expressions.py, containers.py, attributes.py, calls.py, builtin_calls.py, joint.py
                   what each construct of Python does

proof/ follows code as well, for another question. It joins all ways that code may go, and what it
makes in loops, until nothing is added: whether state is kept follows from that. What is computed in
which order does not. Here there is one way, since the picture alone is unknown and nothing may be
decided by it.
"""

from .grounds import Grounds
from .recognise import views_of
from .steps import steps_of, steps_or_views
from .views import SOURCE, Applied, Known, Stack, Structure, Target, Together, Views, indices_of

__all__ = [
    "SOURCE",
    "Applied",
    "Grounds",
    "Known",
    "Stack",
    "Structure",
    "Target",
    "Together",
    "Views",
    "indices_of",
    "steps_of",
    "steps_or_views",
    "views_of",
]
