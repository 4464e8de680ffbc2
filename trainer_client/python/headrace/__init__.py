"""Headrace: data preprocessing for PyTorch training on workers anywhere, with the same bits.

    headrace run python train.py         nothing in train.py changes
    import headrace; headrace.install()  the same from inside a program; coordinator=, workers=, cache=
    headrace.DataLoader(...)             torch's DataLoader, with rng= and a resumable state
    headrace.open_dataset("s3://...")    images in a bucket (or gs://), as ImageFolder has them on disk
    headrace.open_dataset("*.tar")       images in tars (WebDataset's layout), map-style
    @headrace.pure                       declares that a function or class keeps nothing
    @headrace.cached                     declares that a function's results may be kept
    @headrace.never_cached               declares that they may not

Importing this package imports neither torch nor the native client; both come with the first use.
"""

from typing import TYPE_CHECKING, Any

from .declared import cached, never_cached, pure
from .errors import (
    CoordinatorUnavailable,
    HeadraceError,
    OptionError,
    OutOfMemory,
    SampleDeadline,
    SamplesDiffer,
    StateError,
    VersionMismatch,
    WorkersUnavailable,
)
from .loader import inspection
from .loader.hook import install, uninstall
from .version import __version__

if TYPE_CHECKING:
    from .loader.dataloader import DataLoader
    from .shards import open_dataset

__all__ = [
    "CoordinatorUnavailable",
    "DataLoader",
    "HeadraceError",
    "SampleDeadline",
    "SamplesDiffer",
    "OptionError",
    "OutOfMemory",
    "StateError",
    "VersionMismatch",
    "WorkersUnavailable",
    "__version__",
    "cached",
    "install",
    "never_cached",
    "open_dataset",
    "pure",
    "uninstall",
]


def _look(loader: Any, wanted: inspection.Inspection) -> tuple[int, str]:
    from . import explain

    return explain.look(loader, wanted)


inspection.look_with(_look)


def __getattr__(name: str) -> Any:
    if name == "DataLoader":
        from .loader.dataloader import DataLoader

        return DataLoader
    if name == "open_dataset":
        from .shards import open_dataset

        return open_dataset
    raise AttributeError(f"module 'headrace' has no attribute {name!r}")
