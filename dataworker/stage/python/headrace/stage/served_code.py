"""Functions of the program whose code is a lane's: how it is put there, and what stays."""

import functools
import os
import re
import types
import weakref
from typing import Any

from ..declared import CACHED
from .content_kinds import MISSING
from .content_values import ORIGINAL

UNREAD = (
    ORIGINAL,
    CACHED,
    "__headrace_pure__",
    "__annotations__",
)  # of functions: nobody looks at these


def put(function: types.FunctionType, server: Any, file: str = "") -> None:
    """Has `server` called with the arguments of each call of the function, which stays what it was beside:
    it takes what it took, and its name and its documentation are its own. `file`: that tracebacks name; empty: the
    function's."""
    code = function.__code__
    inner = code_to_serve(code.co_freevars, file or code.co_filename)
    named: dict[str, Any] = {"co_name": code.co_name, "co_firstlineno": code.co_firstlineno}
    if hasattr(code, "co_qualname"):
        named["co_qualname"] = code.co_qualname
    constants = tuple(server if one == _MARK else one for one in inner.co_consts)
    server.of = weakref.ref(function)  # which would not end with its last user otherwise
    function.__wrapped__ = server.raw  # type: ignore[attr-defined]  # what inspect.signature() asks
    setattr(function, ORIGINAL, False)
    function.__code__ = inner.replace(co_consts=constants, **named)


@functools.lru_cache(maxsize=1024)
def code_to_serve(free: tuple[str, ...], file: str) -> types.CodeType:
    """What put() makes the code of, for a function with these variables around it. Processes that fork lanes ask for it,
    so that no lane compiles it."""
    around = ", ".join(free)
    text = (
        f"def outer({around}):\n"
        " def inner(*hr_args, **hr_named):\n"
        f"  hr_serve = {_MARK!r}\n"
        f"  if hr_serve is None: ({around}{',' if around else ''})\n"
        "  return hr_serve(hr_args, hr_named)\n"
        " return inner"
    )
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    return next(c for c in space["outer"].__code__.co_consts if isinstance(c, types.CodeType))


_MARK = "headrace serves this call"


def as_it_is(function: types.FunctionType | None, raw: types.FunctionType) -> types.FunctionType:
    """`raw`, which has the code of a function that is served, with the defaults that the function has now."""
    if function is not None and (
        function.__defaults__ is not raw.__defaults__
        or function.__kwdefaults__ is not raw.__kwdefaults__
    ):
        raw.__defaults__, raw.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return raw


def copy_of(function: types.FunctionType) -> types.FunctionType:
    """The function as it is, whatever becomes of its code."""
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )  # fmt: skip
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__doc__, copy.__annotations__ = function.__doc__, function.__annotations__
    setattr(copy, ORIGINAL, True)
    return copy


def name_of(function: types.FunctionType) -> str:
    """As people find it."""
    code = function.__code__
    return f"{function.__qualname__} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def original_of(function: types.FunctionType) -> types.FunctionType:
    """As it is without a lane."""
    own = vars(function)
    return as_it_is(function, own["__wrapped__"]) if own.get(ORIGINAL) is False else function


def of_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def function_now(function: Any) -> tuple[Any, ...]:
    """What compares with ==."""
    own = vars(function)
    if own and own.get(ORIGINAL) is False:
        function = as_it_is(function, own["__wrapped__"])
        own = vars(function)
    attributes = [(k, id(v)) for k, v in own.items() if k not in UNREAD] if own else []
    closure = function.__closure__
    cells = [id(of_cell(cell)) for cell in closure] if closure else []
    return (
        id(function.__code__), id(function.__defaults__), id(function.__kwdefaults__), attributes, cells,
    )  # fmt: skip


_FRAMES = re.compile(
    rf'  File "{re.escape(os.path.dirname(os.path.abspath(__file__)))}/(?:(?:cached|found)_calls|functions|doors)\.py", line \d+, in .*\n'
    r"(?:    .*\n)*"
)


def without_our_frames(text: str) -> str:
    """A traceback, as it is without a lane."""
    return _FRAMES.sub("", text)
