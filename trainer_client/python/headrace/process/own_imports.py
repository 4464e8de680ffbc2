"""Imports of ours while a program runs that has taken modules out of sys.modules, or replaced them there."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from . import collection

# Modules of the standard library from when torch was imported.
_standard: dict[str, ModuleType] = {}


def remember() -> None:
    """Called before the program can change anything."""
    _standard.update((name, one) for name, one in sys.modules.copy().items() if _is_standard(name))


@contextmanager
def as_they_were() -> Iterator[None]:
    """What the program has since taken out of sys.modules, or replaced there, is there meanwhile: our imports must
    not bring it back. No garbage is collected."""
    holds = gc.isenabled()  # else somebody holds it already
    collection.hold()
    ours = {name: one for name, one in list(_standard.items()) if sys.modules.get(name) is not one}
    now = sys.modules.copy().items()
    halted = [name for name, one in now if one is None and _is_standard(name)]
    theirs = {name: one for name, one in now if name in ours or name in halted}
    for name in theirs:
        del sys.modules[name]
    sys.modules.update(ours)
    try:
        yield
    finally:
        for name in ours:
            sys.modules.pop(name, None)
        sys.modules.update(theirs)
        if holds:
            collection.release()


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names
