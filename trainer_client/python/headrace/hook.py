"""The seam: DataLoader._get_iterator, the one place that every loader's iterator comes from.

Frameworks rebuild loaders from their attributes, so a subclass would silently turn into a plain
DataLoader; the method that makes the iterator stays.
"""

from types import ModuleType
from typing import Any

from . import inspection, options

_STOCK = "__headrace_stock__"


def install() -> None:
    """Serves every torch DataLoader of this process from now on. Idempotent; imports torch."""
    import torch.utils.data.dataloader

    patch(torch.utils.data.dataloader)


def uninstall() -> None:
    """Undoes install(). Iterators that exist go on."""
    import torch.utils.data.dataloader

    loader = torch.utils.data.dataloader.DataLoader
    stock = getattr(loader._get_iterator, _STOCK, None)
    if stock is not None:
        loader._get_iterator = stock


def patch(module: ModuleType) -> None:
    """install() for a torch.utils.data.dataloader that is being imported."""
    if options.is_off() or hasattr(module.DataLoader._get_iterator, _STOCK):
        return
    options.from_environment()  # a bad setting is reported before the program does any work
    stock = module.DataLoader._get_iterator

    def _get_iterator(self: Any) -> Any:
        from . import seam

        return seam.make_iterator(self, stock)

    inspection.watch()
    setattr(_get_iterator, _STOCK, stock)
    module.DataLoader._get_iterator = _get_iterator


def stock_of(loader: Any) -> Any:
    """torch's own DataLoader._get_iterator."""
    return getattr(loader._get_iterator, _STOCK, loader._get_iterator)
