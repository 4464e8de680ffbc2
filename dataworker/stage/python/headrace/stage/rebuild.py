"""How a worker makes again what a bundle's pickle can't hold as it is (capture/pickler.py)."""

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cloudpickle import cloudpickle


def lru_cached(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """Empty, as the caches of a new process are; what the trainer's holds is made again when it is
    asked for. Its attributes follow as state."""
    return functools.lru_cache(**parameters)(function)


def cached_property(function: Callable[..., Any], name: str | None) -> Any:
    """Makes one with a lock of its own, if this Python gives it one."""
    made = functools.cached_property(function)
    made.attrname = name
    return made


def skeleton_class(
    kind: type, name: str, bases: tuple[type, ...], body: dict[str, Any], number: str, extra: Any
) -> Any:
    """Does what cloudpickle's function of the same purpose does; the class is filled afterwards.
    But a class is made once, however its pickle gets there, and code of the program's own that is
    told of new classes (__init_subclass__, a metaclass) is not told: what it wrote down in the
    trainer travels."""
    known = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(number)
    if known is not None:
        return known
    plain = types.resolve_bases(bases)
    with _nobody_told(plain):
        if _is_own(kind):
            maker = next(base for base in kind.__mro__ if not _is_own(base))
            orig = {} if plain is bases else {"__orig_bases__": bases}
            made: Any = maker.__new__(kind, name, plain, {**body, **orig})
            return cloudpickle._lookup_class_or_track(number, made)
        return cloudpickle._make_skeleton_class(kind, name, bases, body, number, extra)


def _is_own(cls: type) -> bool:
    """Made by a bundle, in this process or where it was pickled."""
    return cls in cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS


@contextmanager
def _nobody_told(bases: tuple[type, ...]) -> Iterator[None]:
    listeners = [
        (cls, vars(cls)["__init_subclass__"])
        for cls in dict.fromkeys(cls for base in bases for cls in base.__mro__)
        if "__init_subclass__" in vars(cls) and _is_own(cls)
    ]
    for cls, _ in listeners:
        type.__delattr__(cls, "__init_subclass__")
    try:
        yield
    finally:
        for cls, listener in listeners:
            type.__setattr__(cls, "__init_subclass__", listener)
