"""The seam: DataLoader._get_iterator, the one place that every loader's iterator comes from.

Frameworks rebuild loaders from their attributes, so a subclass would silently turn into a plain
DataLoader; the method that makes the iterator stays. torchdata's StatefulDataLoader overrides it,
so that one is replaced, too.
"""

import sys
from types import ModuleType
from typing import Any

from ..process import (
    began as began,
)  # what is older than the program is told from its first process on
from ..process import handlers, own_imports
from ..service import options
from . import aside, inspection
from .names import STATEFUL

_STOCK = "__headrace_stock__"
_is_first = False  # the next iterator is the first one since patch()
_said: set[str] = set()


def install(
    *,
    coordinator: str | None = None,
    workers: int | None = None,
    cache: int | str | None = None,
) -> None:
    """Serves every torch DataLoader of this process after this call. Idempotent; imports torch.

    coordinator: address ("tcp://HOST:PORT", "ipc://PATH"); cache: of the workers on this host, bytes or
    "2G". None: what HEADRACE_COORDINATOR and the like say. They hold for this process and those that it
    starts. Raises OptionError: an option of another form, or one that comes after the first loader was
    served by others.
    """
    options.set_environment(coordinator=coordinator, workers=workers, cache=cache)
    import torch.utils.data.dataloader

    patch(torch.utils.data.dataloader)
    if STATEFUL in sys.modules:
        patch(sys.modules[STATEFUL])
    elif not options.is_off() and _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undoes install(). Iterators that exist go on."""
    import torch.utils.data.dataloader

    _unpatch(torch.utils.data.dataloader.DataLoader)
    aside.unwatch()
    if STATEFUL in sys.modules:
        _unpatch(sys.modules[STATEFUL].StatefulDataLoader)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _unpatch(loader: Any) -> None:
    stock = getattr(loader._get_iterator, _STOCK, None)
    if stock is not None:
        loader._get_iterator = stock


def patch(module: ModuleType, fork_lists: Any = None) -> None:
    """install() for one module: torch.utils.data.dataloader, or STATEFUL. `fork_lists`: as
    fork_hooks.find's."""
    global _is_first
    loader = module.StatefulDataLoader if module.__name__ == STATEFUL else module.DataLoader
    if options.is_off() or hasattr(loader._get_iterator, _STOCK):
        return
    options.from_environment()  # a bad setting is reported before the program does any work
    from ..process import collection, fork_hooks, output

    fork_hooks.find(fork_lists)
    stock = loader._get_iterator

    def _get_iterator(self: Any) -> Any:
        if _is_first:  # the first time; make_iterator releases it as soon as it may
            collection.hold()
        try:
            try:
                if _is_first and self.num_workers > 0 and module.get_worker_info() is None:
                    _begin()
                seam = _seam()
            except Exception as error:  # something else is in the place of what we import
                if handlers.raised(error):
                    raise
                line = f"headrace: not used in this program: {type(error).__name__}: {error}"
                if line not in _said:
                    _said.add(line)
                    output.tell(line)
                collection.release()
                with aside.in_the_seam():
                    return stock(self)
            with aside.in_the_seam():
                return seam.make_iterator(self, stock)
        finally:
            collection.release()

    own_imports.remember()
    _is_first = True
    inspection.watch()
    if module.__name__ != STATEFUL:
        aside.watch(module)
    setattr(_get_iterator, _STOCK, stock)
    loader._get_iterator = _get_iterator


def _begin() -> None:
    """The service starts while the rest of the package is imported."""
    from ..service import service

    service.begin()


def _seam() -> ModuleType:
    """headrace.loader.seam, which imports most of the package the first time. Raises what an import raises."""
    global _is_first
    if not _is_first:
        from . import seam

        return seam
    try:
        with own_imports.as_they_were():
            from . import seam
    finally:
        _is_first = False
    return seam


def stock_of(loader: Any) -> Any:
    """torch's own DataLoader._get_iterator."""
    return getattr(loader._get_iterator, _STOCK, loader._get_iterator)


class _StatefulFinder:
    """A meta path finder that waits for torchdata's loader and then goes away."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != STATEFUL:
            return None
        sys.meta_path.remove(self)
        found = (f.find_spec(name, path, target) for f in sys.meta_path if hasattr(f, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            patch(module)

        loader.exec_module = exec_module
        return spec


_finder = _StatefulFinder()
