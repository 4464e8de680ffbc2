"""What a call of a found function runs, while it runs: functions of the program, which its name must cover, and
functions of libraries, which must be known (known_calls.py).

Python's profile hook tells of each. It does not tell of calls between functions in C, nor of classes and other
objects that are called: the walk of the code refuses what it names of these (proven_content.py).
"""

import functools
import os
import sys
import types
from collections import namedtuple
from typing import Any

from ..process.modules import namespace
from . import known_calls
from .functions import Replaced
from .proven_content import ProvenContent
from .reach_parts import is_own_code

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_EVENT = 0.5e-6  # seconds
_OWN, _LIBRARY, _OUR, _SERVER = "own", "library", "our", "server"
# Serve functions within the call, which run as they are.
_SERVERS = _OURS + "stage/cached_calls.py", _OURS + "stage/found_calls.py"
# Libraries whose functions do not say of which module they are.
_NAMELESS = ("cv2",)


class CallTrace:
    """Of one call, in one thread: `with` it, then look at `problem`."""

    def __init__(self, content: ProvenContent) -> None:
        self._content = content
        self._events = 0
        self.problem = ""  # why the result is not kept; empty: nothing speaks against it
        self._stops_at: types.FrameType | None = None  # our own code runs until this frame returns

    def __enter__(self) -> "CallTrace":
        self._ran: dict[types.CodeType, dict[str, Any]] = {}  # with the variables of its module
        sys.setprofile(self._heard)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(None)
        if not self.problem and any(_has_warned(*ran) for ran in self._ran.items()):
            self.problem = "it warns, or has"

    @property
    def seconds(self) -> float:
        """About what it takes by itself."""
        return self._events * _EVENT

    def _heard(self, frame: types.FrameType, event: str, arg: Any) -> None:
        self._events += 1
        if self._stops_at is not None:
            if event == "return" and frame is self._stops_at:
                self._stops_at = None
            return
        if event == "call":
            self._called(frame)
        elif event == "c_call" and not self.problem:
            kind = _kind(frame.f_code)
            if kind != _SERVER and (why := _of_builtin(arg, kind == _OWN)):
                self.problem = f"it calls what is not known: {why}"

    def _called(self, frame: types.FrameType) -> None:
        code = frame.f_code
        kind = _kind(code)
        if kind == _OUR:
            self._stops_at = frame
            return
        if self.problem or kind == _SERVER:
            return
        space = frame.f_globals
        self._ran[code] = space
        if kind == _OWN:
            content = self._content
            if id(code) not in content.codes and code.co_name != "<module>":
                self.problem = f"it runs {code.co_name}, which its name does not cover"
            elif id(code) in content.unclean:
                self.problem = content.unclean[id(code)]
        else:
            module = space.get("__name__")
            if type(module) is not str:
                self.problem = f"it runs {code.co_name}, of no module"
            elif module.startswith(_NAMED_TUPLE) and _makes_named_tuple(code, space):
                pass
            elif why := known_calls.refuses_library_code(module, code.co_name):
                self.problem = f"it calls what is not known: {why}"


_NAMED_TUPLE = "namedtuple_"  # what the modules of their constructors are called


def _makes_named_tuple(code: types.CodeType, space: dict[str, Any]) -> bool:
    """Whether it is the __new__ that collections.namedtuple makes, as of what PIL knows of a file's tiles."""
    globals_are = len(space) == 3 and space.get("__builtins__") == {}
    return globals_are and space.get("_tuple_new") is tuple.__new__ and _is_new(code)


@functools.lru_cache(maxsize=256)
def _is_new(code: types.CodeType) -> bool:
    try:
        fields = code.co_varnames[1 : code.co_argcount]
        made: Any = namedtuple("made", fields)  # type: ignore[misc]  # noqa: PYI024 - to compare
    except (TypeError, ValueError):
        return False
    return code == getattr(made.__new__, "__code__", None)


def _has_warned(code: types.CodeType, space: dict[str, Any]) -> bool:
    """Whether a warning is known of a line of the code: the next one would not show, but under other filters it
    would."""
    registry = space.get("__warningregistry__")
    if type(registry) is not dict or len(registry) < 2:
        return False
    known = {key[2] for key in registry if type(key) is tuple and len(key) == 3}
    return any(line in known for _, _, line in code.co_lines())


_kinds: dict[types.CodeType, str] = {}


def _kind(code: types.CodeType) -> str:
    kind = _kinds.get(code)
    if kind is None:
        name = code.co_filename
        if name.startswith(_OURS):
            kind = _SERVER if name in _SERVERS else _OUR
        elif name.startswith("<") and not name.startswith("<stdin>"):
            kind = _LIBRARY  # made by a library, such as a named tuple's: known by its module
        else:
            kind = _OWN if is_own_code(code) else _LIBRARY
        _kinds[code] = kind
    return kind


_KEYS = types.ModuleType | type | types.BuiltinFunctionType
# Where pybind11 has what its functions are methods of; they say themselves of which module they are.
_OF_PYBIND = "pybind11_builtins"
_builtins: dict[tuple[Any, str, bool], str] = {}


def _of_builtin(function: Any, own: bool) -> str:
    """Why a function in C is refused."""
    of = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if of is None:
        of = function  # is all that tells it apart
    key: tuple[Any, str, bool] = of if isinstance(of, _KEYS) else type(of), name, own
    if type(of).__module__ == _OF_PYBIND:
        key = getattr(function, "__module__", None), name, own
    known = _builtins.get(key)
    if known is None:
        known = _builtins[key] = _about(function, of, name, own)
    return known


def _about(function: Any, of: Any, name: str, own: bool) -> str:
    if isinstance(of, types.ModuleType):
        module = of.__name__
    elif isinstance(of, type):
        module = of.__module__
    elif type(of).__module__ == _OF_PYBIND:
        module = getattr(function, "__module__", None) or _OF_PYBIND
    elif of is function:
        module = getattr(function, "__module__", None) or _holder(function, name)
    else:
        module = type(of).__module__
    if module in ("builtins", "_io") and name in ("write", "writelines", "truncate") and not own:
        return ""  # into memory; files are watched (witness.py)
    return known_calls.refuses(module or "", name, own=own)


def _holder(function: Any, name: str) -> str:
    for module in _NAMELESS:
        held = namespace(sys.modules.get(module)).get(name)
        if held is function or (type(held) is Replaced and held.real is function):
            return module
    return ""
