"""Data classes that the standard library makes at their first instance.

To make one takes 0.25 ms. The package has over eighty, a program uses a dozen of them, and all are loaded while it
waits for its first batch. Such a class must not be asked for its fields before there is an instance of it.
"""

import dataclasses
import os
import threading
from typing import TYPE_CHECKING, Any

_making = threading.RLock()
_OPTIONS = "_headrace_options"  # of a class that is not made yet


def _at_first_instance(cls: Any = None, /, **options: Any) -> Any:
    """dataclasses.dataclass, later. A class with slots, which is another one, or whose instances are not made by
    object, is made at once."""
    if cls is None:
        return lambda decorated: _at_first_instance(decorated, **options)
    if options.get("slots") or cls.__new__ not in _OURS:
        return dataclasses.dataclass(**options)(cls)
    # In the place of __new__, so that __init__ is set when it is there, and never missed: unpickling has no
    # other, and another thread may make an instance meanwhile.
    setattr(cls, _OPTIONS, options)
    cls.__new__ = _first
    return cls


def _first(cls: Any, *_: Any, **__: Any) -> Any:
    with _making:
        for base in reversed(cls.__mro__):
            options = vars(base).get(_OPTIONS)
            if options is not None:
                # Else one is made of the class's signature, which takes a fifth of the time.
                base.__doc__ = base.__doc__ or base.__name__
                dataclasses.dataclass(**options)(base)
                delattr(base, _OPTIONS)
                base.__new__ = _next
    return object.__new__(cls)


def _before_fork() -> None:
    _making.acquire()


def _after_fork() -> None:
    _making.release()


# A child has no class that another thread was at, and no lock of a thread that it does not have.
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def _next(cls: Any, *_: Any, **__: Any) -> Any:
    return object.__new__(cls)


_OURS = object.__new__, _first, _next

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _at_first_instance
