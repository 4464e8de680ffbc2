"""Imports of ours while a program runs that has taken modules out of sys.modules, or replaced them there.

Most come with the program's first loader. What few programs need comes when it is needed (Late).
"""

import gc
import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

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


def module(name: str, package: str) -> ModuleType:
    """Ours, loaded now if need be: what it imports is not the program's to see. `name`: relative, with its dot."""
    loaded = sys.modules.get(f"{package}{name}")
    if loaded is not None:
        return loaded
    with as_they_were():
        return importlib.import_module(name, package)


class Late:
    """Stands for a module of ours in those that seldom use it, and imports it at the first use. Any thread.
    Type checkers are told of the module itself:

        if TYPE_CHECKING:
            from . import missing
        else:
            missing = Late("headrace.serve.missing")
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, of: str) -> Any:
        if of.startswith("__"):
            raise AttributeError(
                of
            )  # somebody looks at all that there is, as pickle and inspect do
        module = sys.modules.get(self._name)
        if module is None or of not in vars(module):  # or another thread is importing it
            with as_they_were():
                module = importlib.import_module(self._name)
        return getattr(module, of)


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names
