"""Which of several training processes the trainer is, for code that asks on a worker.

A worker process of the stock loader is a fork of the trainer: it sees the launcher's variables, and
torch.distributed says which rank it is. Data sets choose their shards by that.
"""

import os
import sys
from types import SimpleNamespace
from typing import Any

_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NODE_RANK")
_PREFIXES = ("SLURM_", "OMPI_COMM_WORLD_", "PMI_")


def ranks() -> dict[str, Any]:
    """Entries of the bundle (host.py)."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if name in _NAMES or name.startswith(_PREFIXES)
    }
    distributed = sys.modules.get("torch.distributed")
    group = None
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        group = distributed.get_rank(), distributed.get_world_size()
    return {"environ": environ, "group": group}


def take_place(bundle: SimpleNamespace) -> None:
    """Takes the trainer's ranks in a worker's process, with a process group that cannot
    communicate."""
    for name in [n for n in os.environ if n in _NAMES or n.startswith(_PREFIXES)]:
        del os.environ[name]
    os.environ.update(bundle.environ)
    if bundle.group is None:
        return
    import torch.distributed
    from torch.testing._internal.distributed.fake_pg import FakeStore

    rank, world_size = bundle.group
    torch.distributed.init_process_group(
        "fake", rank=rank, world_size=world_size, store=FakeStore()
    )
