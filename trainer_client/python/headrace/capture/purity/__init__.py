"""Does the pipeline's code keep state from sample to sample?

    source.py    a function's syntax tree, believed only where it gives the very bytecode
    values.py    what an expression may stand for, on the live objects
    paths.py     what it stands for by its text
    frames.py    a function while it is read
    names.py     library functions whose effect is known by name
    effects.py   follows the code and notes what it does to lasting state
    calls.py     its calls, items and loops
    guards.py    conditions behind which a write only fills in
    live.py      branches that the settings rule out
    events.py    what is noted
    verdict.py   from these to findings
    examine.py   all of it for a loader

The other half of the evidence is a dry run on a copy (stage/dry_run.py). Why both:
docs/adr/0011-stateful-code.md.
"""

from .examine import class_of, examine, findings_of
from .verdict import Finding

__all__ = ["Finding", "class_of", "examine", "findings_of"]
