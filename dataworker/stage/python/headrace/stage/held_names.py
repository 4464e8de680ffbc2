"""What modules hold by `from LIBRARY import NAME`."""

import gc
import sys
from typing import Any

from ..process.fork_hooks import LIBRARIES
from ..process.module_table import ModuleTable
from ..process.modules import namespace

# Packages that hold none of them, and have most modules.
_HOLD_NONE = sys.stdlib_module_names | {
    "PIL", "headrace", "matplotlib", "numpy", "pandas", "scipy", "sklearn", "sympy", "torch", "torchvision",
}  # fmt: skip
# A module's namespace, a name in it, and the library's function that it stands for.
Place = tuple[dict[str, Any], str, Any]


class HeldNames:
    """Of installed modules, once, those under the library's own name; of the program's modules, at each
    look, all. One thread at a time."""

    def __init__(self) -> None:
        self._table = ModuleTable()
        self._wanted: set[int] = set()
        self._own: list[dict[str, Any]] = []
        self._installed: list[Place] = []

    def look(self, functions: dict[int, str]) -> list[Place]:
        """`functions`: by id(), the names of what is looked for."""
        kept, new = self._table.news()
        if not kept or self._wanted != functions.keys():
            self._wanted, self._own, self._installed = set(functions), [], []
            new = list(sys.modules)
        known = set(functions.values())
        for module in new:
            if module.partition(".")[0] in _HOLD_NONE:
                continue
            space = namespace(sys.modules.get(module))
            file = space.get("__file__")
            if isinstance(file, str) and file.startswith(LIBRARIES):
                self._installed += _places(space, filter(space.__contains__, known), functions)
            elif space:
                self._own.append(space)
        own = [place for space in self._own for place in _places(space, list(space), functions)]
        return own + self._installed


def _places(space: dict[str, Any], names: Any, functions: dict[int, str]) -> list[Place]:
    held = ((name, space.get(name)) for name in names)  # another thread may take one away
    return [(space, name, value) for name, value in held if id(value) in functions]


def referrers(functions: dict[int, Any]) -> list[Place]:
    """Everywhere, also in globals that are no module's. `functions`: by id(), what is looked for."""
    # Modules from before a gc.freeze() are not among the referrers.
    modules = map(namespace, sys.modules.copy().values())
    return [
        (space, name, value)
        for space in (*gc.get_referrers(*functions.values()), *modules)
        if type(space) is dict and "__builtins__" in space
        for name, value in list(space.items())
        if id(value) in functions
    ]
