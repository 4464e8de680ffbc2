"""From a DataLoader to a plan.

    datasets.py      where samples come from: leaves, row numbers, fields
    transforms.py    the operator chain
    items/           data sets that are code of the program's, as the files that they open
    views/           transforms that are code of the program's, as what they apply
    collate.py       how samples become a batch
    hooks.py         worker_init_fn
    libraries.py     the versions that decide about bits
    python_stage.py  the pipeline as code, when it has no native form
    fingerprint.py   is what was captured still true?
    refusal.py       why there is no native form, and whether that still holds
    capture.py       puts these together
    captured.py      what comes of it: NativePlan, StagePlan or StaysLocal
    admission.py     runs both ways and compares, before anything is offloaded

Everything native is matched by exact type: a subclass may change anything.
"""

from ..native.plan import Local, NotNative, Plan
from .capture import capture
from .captured import Captured, NativePlan, Served, StagePlan, StaysLocal

__all__ = [
    "Captured",
    "Local",
    "NativePlan",
    "NotNative",
    "Plan",
    "Served",
    "StagePlan",
    "StaysLocal",
    "capture",
]
