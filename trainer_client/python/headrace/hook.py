"""The seam: DataLoader._get_iterator, the one place that every loader's iterator comes from.

Frameworks rebuild loaders from their attributes, so a subclass would silently turn into a plain
DataLoader; the method that makes the iterator stays. torchdata's StatefulDataLoader overrides it,
so that one is replaced, too.
"""

import sys
from types import ModuleType
from typing import Any

from . import inspection, options

_STOCK = "__headrace_stock__"
STATEFUL = "torchdata.stateful_dataloader.stateful_dataloader"


def install() -> None:
    """Serves every torch DataLoader of this process from now on. Idempotent; imports torch."""
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
    if STATEFUL in sys.modules:
        _unpatch(sys.modules[STATEFUL].StatefulDataLoader)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _unpatch(loader: Any) -> None:
    stock = getattr(loader._get_iterator, _STOCK, None)
    if stock is not None:
        loader._get_iterator = stock


def patch(module: ModuleType) -> None:
    """install() for one module: torch.utils.data.dataloader, or STATEFUL."""
    loader = module.StatefulDataLoader if module.__name__ == STATEFUL else module.DataLoader
    if options.is_off() or hasattr(loader._get_iterator, _STOCK):
        return
    options.from_environment()  # a bad setting is reported before the program does any work
    stock = loader._get_iterator

    def _get_iterator(self: Any) -> Any:
        from . import seam

        return seam.make_iterator(self, stock)

    inspection.watch()
    setattr(_get_iterator, _STOCK, stock)
    loader._get_iterator = _get_iterator


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
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            patch(module)

        spec.loader.exec_module = exec_module
        return spec


_finder = _StatefulFinder()
