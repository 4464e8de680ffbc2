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


def may_give(dataset: Any, lanes: int, at_once: bool) -> bool:
    """Whether so many lanes that are started now may give results in place of calls. `at_once`: as
    found_calls.may_give's."""
    if declared.cached_functions():
        return True
    found = _found_calls()
    return found is not None and bool(found.may_give(dataset, lanes, at_once))


def serve(lane: int, gives: bool) -> None:
    """Once in a lane whose worker may keep leaves, before its first sample. `gives`: results that are found may be
    given, since the lane may begin again."""
    if declared.cached_functions():
        from . import cached_calls

        cached_calls.enable(lane)
        cached_calls.gives = gives
    if (found := _found_calls()) is not None:
        from . import cached_calls

        cached_calls.gives = gives
        found.enable(lane)


def finds() -> bool:
    """Whether functions were looked for in this process, or in the one that forked it."""
    return _found_calls() is not None


def as_without(error: Any) -> Any:
    """An exception of the program's, as torch hands it on, without frames of ours in its text."""
    if type(getattr(error, "exc_msg", None)) is str:
        error.exc_msg = _imported("served_code").without_our_frames(error.exc_msg)
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
