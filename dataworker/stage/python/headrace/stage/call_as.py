"""Calls a function as if another line of the program did (functions.py)."""

import ast
import functools
from types import CodeType, FrameType
from typing import Any


def call_as(frame: FrameType, function: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What the function returns or raises. Compiled code has no frame: its warnings name the line that called it,
    and are told once for each such line. Here that is the line of `frame`."""
    code = _call_at(frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno)
    return eval(code, frame.f_globals, {"function": function, "args": args, "named": named})


@functools.lru_cache(256)
def _call_at(file: str, name: str, line: int) -> CodeType:
    tree = ast.parse("function(*args, **named)", mode="eval")
    return compile(ast.increment_lineno(tree, line - 1), file, "eval").replace(co_name=name)
