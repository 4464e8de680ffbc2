"""Functions that see the local variables of who calls them, and code that calls one (only_use.py)."""

import builtins
import dis
import functools
import inspect
import sys
import types
from typing import Any

# Whatever they are names of: variables, attributes, functions.
_NAMES = frozenset(
    ("locals", "vars", "dir", "eval", "exec", "f_locals", "f_back", "_getframe")
    + ("_current_frames", "currentframe", "getargvalues", "getouterframes", "getinnerframes")
)
# The function may have another name. `stack` is a name of torch's too, so `inspect` itself is here.
_OBJECTS: tuple[Any, ...] = (
    *(builtins, builtins.locals, builtins.vars, builtins.dir, builtins.eval, builtins.exec),
    *(sys._getframe, sys._current_frames, inspect, inspect.currentframe, inspect.stack),
    *(inspect.trace, inspect.getargvalues, inspect.getouterframes, inspect.getinnerframes),
)
_IDS = frozenset(map(id, _OBJECTS))


def reads_frames(thing: Any) -> bool:
    return id(thing) in _IDS


@functools.lru_cache(maxsize=256)
def _globals_of(code: types.CodeType) -> tuple[str, ...] | None:
    """The global names that it loads. None: it has a name that says what it does."""
    if not _NAMES.isdisjoint(code.co_names) or not _NAMES.isdisjoint(code.co_varnames):
        return None
    loads = dis.get_instructions(code)
    return tuple({load.argval for load in loads if load.opname == "LOAD_GLOBAL"})


def may_read_frames(frame: types.FrameType) -> bool:
    """Whether its code names such a function, by that function's name or by what a global name holds
    now. Asks no frame for its variables."""
    names = _globals_of(frame.f_code)
    if names is None:
        return True
    own, others = frame.f_globals, frame.f_builtins
    return any(id(own.get(name, others.get(name))) in _IDS for name in names)
