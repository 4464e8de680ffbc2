"""Headrace: data preprocessing for PyTorch training on workers anywhere, with the same bits.

    headrace run python train.py         nothing in train.py changes
    import headrace; headrace.install()  the same from inside a program
    headrace.DataLoader(...)             torch's DataLoader, with rng= and a resumable state

Importing this package imports neither torch nor the native client; both come with the first use.
"""

from typing import TYPE_CHECKING, Any

from .errors import (
    CoordinatorUnavailable,
    HeadraceError,
    OptionError,
    OutOfMemory,
    StateError,
    VersionMismatch,
    WorkersUnavailable,
)
from .hook import install, uninstall

if TYPE_CHECKING:
    from .dataloader import DataLoader

__version__ = "0.1.0"

__all__ = [
    "CoordinatorUnavailable",
    "DataLoader",
    "HeadraceError",
    "OptionError",
    "OutOfMemory",
    "StateError",
    "VersionMismatch",
    "WorkersUnavailable",
    "__version__",
    "install",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    if name == "DataLoader":
        from .dataloader import DataLoader

        return DataLoader
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")
