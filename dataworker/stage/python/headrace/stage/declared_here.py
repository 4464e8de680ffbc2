"""What lanes, and the process that forks them, do with functions that the program has declared. Without any they
load nothing for them."""

from typing import Any

from .. import declared


def prepare(roots: list[Any]) -> None:
    """Before lanes are forked. `roots`: the parts of the pipeline."""
    if declared.cached_functions():
        from . import cached_calls

        cached_calls.prepare(roots)


def serve(lane: int) -> None:
    """Once in a lane whose worker may keep leaves, before its first sample."""
    if declared.cached_functions():
        from . import cached_calls

        cached_calls.enable(lane)
