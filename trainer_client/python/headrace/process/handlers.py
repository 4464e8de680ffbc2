"""Handlers of signals: what one raises is the program's, wherever it comes."""

import signal
from types import CodeType
from typing import Any


def raised(error: BaseException) -> bool:
    """Whether a handler that is set now raised it: a time limit of the program's, say."""
    codes = _codes()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _codes() -> set[CodeType]:
    return {
        code
        for number in signal.valid_signals()
        if (code := _code_of(signal.getsignal(number))) is not None
    }


def _code_of(handler: Any) -> CodeType | None:
    """None: the system's, or none with code of Python's."""
    handler = getattr(handler, "func", handler)  # functools.partial's
    code = getattr(handler, "__code__", None)  # a method has its function's
    if code is None and callable(handler):
        code = getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
