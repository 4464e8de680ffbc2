"""Functions of the program whose code is a lane's: how it is put there, and what stays."""

import os
import types
from typing import Any

from .content_values import ORIGINAL


def put(function: types.FunctionType, server: Any, file: str = "") -> None:
    """Has `server` called with the arguments of each call of the function, which stays what it was beside:
    it takes what it took, and its name and its documentation are its own. `file`: that tracebacks name; empty: the
    function's."""
    code = function.__code__
    around = ", ".join(code.co_freevars)
    text = (
        f"def outer({around}):\n"
        " def inner(*hr_args, **hr_named):\n"
        f"  hr_serve = {_MARK!r}\n"
        f"  if hr_serve is None: ({around}{',' if around else ''})\n"
        "  return hr_serve(hr_args, hr_named)\n"
        " return inner"
    )
    space: dict[str, Any] = {}
    exec(compile(text, file or code.co_filename, "exec"), space)
    inner = next(c for c in space["outer"].__code__.co_consts if isinstance(c, types.CodeType))
    named: dict[str, Any] = {"co_name": code.co_name, "co_firstlineno": code.co_firstlineno}
    if hasattr(code, "co_qualname"):
        named["co_qualname"] = code.co_qualname
    constants = tuple(server if one == _MARK else one for one in inner.co_consts)
    function.__wrapped__ = server.raw  # type: ignore[attr-defined]  # what inspect.signature() asks
    setattr(function, ORIGINAL, False)
    function.__code__ = inner.replace(co_consts=constants, **named)


_MARK = "headrace serves this call"


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
