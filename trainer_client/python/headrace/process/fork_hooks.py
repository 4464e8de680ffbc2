"""What the program has run at each fork (os.register_at_fork).

Stock workers are forks, so such code runs once a worker, in the trainer before and after and in the worker
first. Natively made batches need no forks, and what Headrace forks for itself is one more: neither may
show. The interpreter tells nobody which functions are registered, but it keeps them in three lists. A
function of ours, registered when this module is imported, is how they are found.

Import it early: gc.freeze() hides lists.
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


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


_lists = [one for one in gc.get_referrers(_before, _in_parent, _in_child) if type(one) is list]


def _list_with(marker: Any) -> list[Any] | None:
    """The interpreter's own list, which grows in its place. None: it keeps none that can be found."""
    found = [one for one in _lists if any(hook is marker for hook in one)]
    return found[0] if len(found) == 1 else None


_AROUND = [_list_with(_before), _list_with(_in_parent)]
_IN_CHILD = _list_with(_in_child)
# Where installed modules are, as their paths are written.
LIBRARIES = tuple(
    os.path.join(sysconfig.get_paths()[name], "") for name in ("stdlib", "purelib", "platlib")
)
# Folders of these names are such places, too: of a user, of the interpreter below a virtual
# environment, of a .pth file.
_SITES = frozenset(("site-packages", "dist-packages"))
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def around_forks() -> str:
    """What of the program's runs in the process that forks, in words; empty: nothing."""
    return next(filter(None, map(_first_own, _AROUND)), "")


def in_children() -> str:
    """What of the program's runs in the fork; as above."""
    return _first_own(_IN_CHILD)


def _first_own(hooks: list[Any] | None) -> str:
    if hooks is None:
        return "os.register_at_fork: what is registered can't be seen in this interpreter"
    for hook in hooks:
        if not _is_librarys(hook):
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
