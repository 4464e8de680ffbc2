"""Python's collection of garbage, held off once in a process: while the package is imported and the first
pipeline is looked at.

What is made meanwhile stays, and there is much of it. So collections would come due, up to one of all that
the program has. Each looks at every object, finds nothing, and takes as long as the import.

Not thread-safe, and need not be: who comes second holds off nothing, and what one lets go is let go.
"""

import collections
import gc
import operator
import os

_held = _settled = False
_call = operator.methodcaller("__call__")


def hold() -> None:
    """Until release(). Nothing where the program has no collections."""
    global _held
    if gc.isenabled():
        gc.disable()
        _held = True


def wanted() -> bool:
    """Whether the program has collections, held off or not: what gc.isenabled() says otherwise."""
    return _held or gc.isenabled()


def release() -> None:
    """Before code of the program's runs, here or in a fork. Idempotent."""
    global _held
    if not _held:
        return
    _held = False
    _settle()
    gc.enable()


def _settle() -> None:
    """What is young now is old: the next collection begins with what is made from now on. Once, or
    garbage of the program's could stay for ever."""
    global _settled
    if _settled:
        return
    _settled = True
    if gc.get_count()[0] <= gc.get_threshold()[0] or gc.get_freeze_count():
        return  # none is due, or the program has frozen objects, which must stay so
    # In one call of C: no other thread may come between, which would see no object at all.
    collections.deque(map(_call, (gc.freeze, gc.unfreeze)), maxlen=0)


# In a fork that another thread makes meanwhile there is nobody to release it.
os.register_at_fork(after_in_child=release)
