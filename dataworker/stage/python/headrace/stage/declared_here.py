"""What lanes, and the process that forks them, do with functions that the program has declared, and with those that
are found. Without any they load nothing for them."""

import importlib
import sys
from typing import Any

from .. import declared
from ..process import own_imports


def prepare(roots: list[Any], finds: bool) -> None:
    """Before lanes are forked. `roots`: the parts of the pipeline, the data set first; `finds`: functions that nobody
    has declared are looked for."""
    if declared.cached_functions():
        _imported("cached_calls").prepare(roots)
    if finds:
        _imported("found_calls").prepare(roots[0])


def serve(lane: int) -> None:
    """Once in a lane whose worker may keep leaves, before its first sample."""
    if declared.cached_functions():
        from . import cached_calls

        cached_calls.enable(lane)
    if (found := _found_calls()) is not None:
        found.enable(lane)


def as_without(error: Any) -> Any:
    """An exception of the program's, as torch hands it on, without frames of ours in its text."""
    if (found := _found_calls()) is not None and type(getattr(error, "exc_msg", None)) is str:
        error.exc_msg = found.without_our_frames(error.exc_msg)
    return error


def _imported(name: str) -> Any:
    """Our module. The first time all modules are looked at, which takes as long as a small iteration's start."""
    module = sys.modules.get(f"{__package__}.{name}")
    if module is None:
        with own_imports.as_they_were():
            module = importlib.import_module(f".{name}", __package__)
    return module


def _found_calls() -> Any:
    """Where the process that forked this lane has looked for functions."""
    return sys.modules.get(f"{__package__}.found_calls")
