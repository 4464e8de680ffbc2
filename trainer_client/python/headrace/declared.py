"""headrace.pure: what a program declares of its own code."""

import types
from typing import Any, TypeVar

_MARK = "__headrace_pure__"

Code = TypeVar("Code")


def pure(code: Code) -> Code:
    """Declares that a function, or each method of a class, keeps nothing from call to call.

        @headrace.pure
        def read(path): ...

    Its results must follow from its arguments, from what was there before the first sample and from
    the random numbers that it draws. Where code can't be proved to be so, it runs on the
    training program's own host alone; a declaration lets it run on others too. Batches of other
    hosts are compared with batches of the training program's host, so that a wrong declaration is
    found out. Returns `code` itself. Raises TypeError for anything but a function or class."""
    if not isinstance(code, type | types.FunctionType):
        raise TypeError(f"headrace.pure declares functions and classes, not {type(code).__name__}")
    setattr(code, _MARK, True)
    return code


def is_declared(code: Any) -> bool:
    """Whether the program declares this very function or class, not one that it derives from."""
    try:
        return vars(code).get(_MARK) is True
    except TypeError:
        return False
