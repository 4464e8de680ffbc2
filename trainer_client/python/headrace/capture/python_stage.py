"""The pipeline as code: dataset, collate_fn and worker_init_fn, pickled for the stage hosts.

The program's own modules travel by value, as they are now; installed packages by name; settings of the
process with them (process_state.py). What cannot mean the same thing in another process (shared memory,
memory maps, open files, CUDA tensors, locks, what the program has put into installed packages) keeps
the loader in the trainer, and the reason names it.
"""

import os
import sys
from typing import Any

from ..native import binding
from ..native.plan import Local, PythonStage
from ..stage.ranks import ranks
from . import bundle
from .process_state import hash_seed

MAX_BUNDLE_BYTES = 1 << 30

_PACKAGES = ("torch", "torchvision", "numpy", "PIL")


def pack(loader: Any, by_pil: list[str], fills: bool = False) -> PythonStage:
    """Packs a map-style data set. Raises Local with the attribute that keeps the pipeline in the
    trainer. `by_pil`, `fills`: as the bundle's entries in stage/host.py."""
    content = bundle.dump(
        {
            "dataset": loader.dataset,
            "fills": fills,
            "collate_fn": loader.collate_fn,
            "worker_init_fn": loader.worker_init_fn,
            "auto_collation": loader._auto_collation,
            "drop_last": loader.drop_last,
            "num_workers": loader.num_workers,
            "by_pil": by_pil,
            **ranks(),
        }
    )
    if len(content) > MAX_BUNDLE_BYTES:
        raise Local(
            f"the dataset holds {len(content) / 2**30:.1f} GiB in memory",
            "let the dataset hold paths, and read what they name in __getitem__",
        )
    return PythonStage(
        fills=fills,
        bundle=binding.Blob(content),
        executable=sys.executable,
        version=f"{sys.version_info[0]}.{sys.version_info[1]}",
        sys_path=[os.path.abspath(entry) for entry in sys.path],
        working_directory=os.getcwd(),
        hash_seed=hash_seed() or "",
        packages={
            name: str(sys.modules[name].__version__) for name in _PACKAGES if name in sys.modules
        },
    )
