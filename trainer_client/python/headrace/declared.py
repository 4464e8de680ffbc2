"""What a program declares of its own code: headrace.pure, headrace.cached, headrace.never_cached.

Each returns what it was given and leaves it as it is, but for a mark. So a declared function has its signature,
its documentation, its name in pickles and its speed. Lanes alone do something with it (stage/cached_calls.py).
"""

import types
import weakref
from typing import Any, TypeVar

_MARK = "__headrace_pure__"
CACHED, NEVER = "__headrace_cached__", "__headrace_never_cached__"
# Marks a function as a lane found it (true), and one whose code is a lane's now (false): stage/cached_calls.py.
ORIGINAL = "__headrace_original__"

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


def cached(code: Code) -> Code:
    """Declares that the results of a function or method may be kept, and given in place of a call.

        @headrace.cached
        def spectrogram(path): ...

    They must follow from its arguments, from what its code reads, and from files; it must draw nothing and
    write nothing. Headrace keeps them where workers have a cache, looks at what each call reads and does,
    and makes results again to compare them: one difference ends it for this function, with a line on
    standard error. Returns `code` itself, which outside of Headrace's lanes is as if it was not declared.
    Takes functions, static methods and class methods; of a function that another decorator has wrapped in an
    object, the function beneath. Raises TypeError for anything else."""
    function = _function_of(code, "cached")
    if CACHED not in vars(function):
        setattr(function, CACHED, len(_cached))
        _cached.append(weakref.ref(function))
    return code


def never_cached(code: Code) -> Code:
    """Declares that the results of a function or method are never kept, nor those of a cached function that
    calls it. It outweighs headrace.cached. Takes, returns and raises what that does."""
    function = _function_of(code, "never_cached")
    if NEVER not in vars(function):
        setattr(function, NEVER, True)
        _never.append(weakref.ref(function))
    return code


def cached_functions() -> list[types.FunctionType]:
    """All that are declared so, in the order of their declaration. A program may have taken the mark away."""
    found = (one() for one in _cached)
    return [
        one for one in found if one is not None and CACHED in vars(one) and NEVER not in vars(one)
    ]


def never_cached_functions() -> list[types.FunctionType]:
    return [one for one in (each() for each in _never) if one is not None]


_cached: "list[weakref.ref[types.FunctionType]]" = []
_never: "list[weakref.ref[types.FunctionType]]" = []


def _function_of(code: Any, name: str) -> types.FunctionType:
    function = code.__func__ if isinstance(code, staticmethod | classmethod) else code
    if isinstance(function, types.FunctionType):
        return function
    raise TypeError(
        f"headrace.{name} declares functions and methods, not {type(code).__name__}: put it beneath other"
        " decorators, next to the function"
    )
