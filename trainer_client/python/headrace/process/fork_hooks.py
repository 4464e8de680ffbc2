"""What the program has run at each fork (os.register_at_fork).

Stock workers are forks, so such code runs once a worker, in the trainer before and after and in the worker
first. Natively made batches need no forks, and what Headrace forks for itself is one more: neither may
show. The interpreter tells nobody which functions are registered, but it keeps them in three lists. A
function of ours that is registered is how they are found. That looks at every object of the process, which
takes 25 ms once torch is imported. So bootstrap/sitecustomize.py does it when the interpreter starts.
"""

import gc
import os
import sys
import sysconfig
from types import FunctionType, MethodType
from typing import Any

from .modules import is_installed


def _before() -> None:
    pass


def _in_parent() -> None:
    pass


def _in_child() -> None:
    pass


# The interpreter's own lists (before a fork, after it in the process that forks, and in the fork), which grow
# in their places. None: it keeps none that can be found.
_lists: tuple[list[Any] | None, ...] = ()
_markers: tuple[Any, ...] = (_before, _in_parent, _in_child)
# Where installed modules are, as their paths are written.
LIBRARIES = tuple(
    os.path.join(sysconfig.get_paths()[name], "") for name in ("stdlib", "purelib", "platlib")
)
# Folders of these names are such places, too: of a user, of the interpreter below a virtual
# environment, of a .pth file.
_SITES = frozenset(("site-packages", "dist-packages"))
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def find(known: tuple[tuple[Any, ...], list[list[Any]]] | None = None) -> None:
    """Finds the lists, once. Early: gc.freeze() hides them. `known`: three functions that somebody has
    registered for the three moments, and lists of which some have them."""
    global _lists, _markers
    if _lists:
        return
    if known is None:
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
        known = _markers, [one for one in gc.get_referrers(*_markers) if type(one) is list]
    _markers, candidates = known
    _lists = tuple(_list_with(marker, candidates) for marker in _markers)


def _list_with(marker: Any, candidates: list[list[Any]]) -> list[Any] | None:
    found = [one for one in candidates if any(hook is marker for hook in one)]
    return found[0] if len(found) == 1 else None


def around_forks() -> str:
    """What of the program's runs in the process that forks, in words; empty: nothing."""
    find()
    return next(filter(None, map(_first_own, _lists[:2])), "")


def in_children() -> str:
    """What of the program's runs in the fork; as above."""
    find()
    return _first_own(_lists[2])


def _first_own(hooks: list[Any] | None) -> str:
    if hooks is None:
        return "os.register_at_fork: what is registered can't be seen in this interpreter"
    for hook in hooks:
        if not (any(hook is one for one in _markers) or _is_librarys(hook)):
            name = getattr(hook, "__qualname__", type(hook).__qualname__)
            return f"os.register_at_fork: {name} runs at each fork of a worker"
    return ""


def _is_librarys(hook: Any) -> bool:
    """An installed library's, which looks after its own locks and connections."""
    hook = getattr(hook, "func", hook)  # functools.partial
    owner = getattr(hook, "__self__", None)
    if owner is not None and type(owner).__module__ == "_thread":
        return True  # a lock's own method
    if isinstance(hook, FunctionType | MethodType):
        file = hook.__code__.co_filename
    else:  # compiled code may name its source, which is not here (h5py)
        module = sys.modules.get(getattr(hook, "__module__", None) or type(owner).__module__)
        file = getattr(module, "__file__", None) or ""
    if file.startswith((_OURS, *LIBRARIES, "<frozen ")) or _SITES.intersection(file.split(os.sep)):
        return True
    return bool(file) and is_installed(file)  # beside torch: pip install --target
