"""Loaders that go past the seam: their class makes torch's iterator itself, and never asks
DataLoader._get_iterator for one. They are not served, and one line says so.

fastai's loader does so, because it is not a torch DataLoader, and litdata's, whose iterator is its own.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..service.report import REPORT, say

_watching = False
_seam = threading.local()
_told: "weakref.WeakSet[Any]" = weakref.WeakSet()


@contextlib.contextmanager
def in_the_seam() -> Iterator[None]:
    """Iterators that this thread makes inside are those that the seam has decided on."""
    before = getattr(_seam, "open", False)
    _seam.open = True
    try:
        yield
    finally:
        _seam.open = before


def watch(module: ModuleType) -> None:
    """Watches the iterators of torch.utils.data.dataloader after this call. Idempotent."""
    global _watching
    _watching = True
    base = module._BaseDataLoaderIter
    if "__new__" not in vars(base):
        # Not __init__, which warns, and names the place that called it.
        base.__new__ = _new


def unwatch() -> None:
    """A class whose __new__ is taken away takes no arguments any more, so it stays and says nothing."""
    global _watching
    _watching = False


def _new(cls: type, loader: Any = None, *_: Any, **__: Any) -> Any:
    if _watching and loader is not None and not getattr(_seam, "open", False):
        _passed(loader)
    return object.__new__(cls)


def _passed(loader: Any) -> None:
    import torch.utils.data

    if torch.utils.data.get_worker_info() is not None:
        return
    with contextlib.suppress(TypeError):  # an object that can't be remembered is told of each time
        if loader in _told:
            return
        _told.add(loader)
    kind = type(loader)
    workers = getattr(loader, "num_workers", 0)
    report = REPORT.add(kind.__qualname__, workers)
    report.path = "local"
    stays = "keeps its own workers" if workers else "stays in the trainer"
    package = kind.__module__.partition(".")[0]
    say(
        report,
        kind.__qualname__,
        f"{stays}: this loader of {package}'s makes its iterator itself, past DataLoader._get_iterator",
    )
