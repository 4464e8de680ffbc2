"""The pipeline as code: dataset, collate_fn and worker_init_fn, pickled for the stage hosts.

The program's own modules travel by value, as they are now; installed packages by name. What cannot
mean the same thing in another process (shared memory, memory maps, open files, CUDA tensors, locks)
keeps the loader in the trainer, and the reason names the attribute.
"""

import importlib
import io
import mmap
import os
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import cloudpickle
import numpy as np
import torch
from torch.utils.data.dataloader import _DatasetKind

from .. import binding
from ..stage.epoch import holder_of
from ..stage.modules import own_modules, tail
from ..stage.ranks import ranks
from .collate import name_of
from .plan import Local, PythonStage

MAX_BUNDLE_BYTES = 1 << 30

# Most time that trying the code may take (stage/dry_run.py) before a loader's first batch.
_DRY_RUN_SECONDS = 5.0

_REMEDY = "make it where it is first used, in __getitem__: each process then has its own"
_PACKAGES = ("torch", "torchvision", "numpy", "PIL")


class _Refused(Exception):
    """Something whose pickle would not mean the same thing elsewhere."""


def pack(loader: Any, by_pil: list[str], keeps_state: bool = False) -> PythonStage:
    """Raises Local with the attribute that keeps the pipeline in the trainer. `by_pil`,
    `keeps_state`: as the bundle's entries in stage/host.py."""
    iterable = loader._dataset_kind == _DatasetKind.Iterable
    bundle = _dump(
        {
            "dataset": loader.dataset,
            "iterable": iterable,
            "keeps_state": keeps_state,
            "batch_size": loader.batch_size,
            "collate_fn": loader.collate_fn,
            "worker_init_fn": loader.worker_init_fn,
            "auto_collation": loader._auto_collation,
            "drop_last": loader.drop_last,
            "num_workers": loader.num_workers,
            "by_pil": by_pil,
            "dry_run": [] if keeps_state else _dry_run_keys(loader),
            "dry_run_seconds": _DRY_RUN_SECONDS,
            **ranks(),
        }
    )
    if len(bundle) > MAX_BUNDLE_BYTES:
        raise Local(
            f"the dataset holds {len(bundle) / 2**30:.1f} GiB in memory",
            "let the dataset hold paths, and read what they name in __getitem__",
        )
    return PythonStage(
        bundle=binding.Blob(bundle),
        executable=sys.executable,
        version=f"{sys.version_info[0]}.{sys.version_info[1]}",
        sys_path=[os.path.abspath(entry) for entry in sys.path],
        working_directory=os.getcwd(),
        packages={
            name: str(sys.modules[name].__version__) for name in _PACKAGES if name in sys.modules
        },
        replayed=iterable or keeps_state,
    )


def _dry_run_keys(loader: Any) -> list[int]:
    if loader._dataset_kind == _DatasetKind.Iterable:
        return []  # a lane is one iterator, with whatever state it has
    try:
        count = len(loader.dataset)
    except Exception:  # no length, or one that raises: then there is no knowing the keys
        return []
    return [0, count // 2] if count > 1 else [0] * count


def _dump(parts: dict[str, Any]) -> bytes:
    _Pickler.told = holder._epoch if (holder := holder_of(parts["dataset"])) is not None else None
    modules = list(own_modules())
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        with io.BytesIO() as file:
            pickler = _Pickler(file, protocol=5)
            pickler.dump(parts)
            named = pickler.named.difference(["__main__"], (own.__name__ for own in modules))
            file.write(tail(name for name in list(sys.modules) if name in named))
            return file.getvalue()
    except _STOPS as error:
        raise Local(_blame(parts, error), _REMEDY) from None
    finally:
        _Pickler.told = None
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


# Whatever user code raises from __reduce__ or __getstate__ means the same: it does not pickle.
_STOPS = (Exception,)


def _dumps(value: Any) -> bytes:
    with io.BytesIO() as file:
        _Pickler(file, protocol=5).dump(value)
        return file.getvalue()


class _Pickler(cloudpickle.Pickler):
    """cloudpickle, less what it pickles without complaint but with another meaning."""

    told: torch.Tensor | None = None  # whose content comes with each epoch (stage/epoch.py)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.named: set[str] = set()  # modules that it has met

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, ModuleType):
            self.named.add(obj.__name__)
            if type(obj) is not ModuleType and sys.modules.get(obj.__name__) is obj:
                # As torch.ops, which cloudpickle takes along where code says torch and x.ops.
                return importlib.import_module, (obj.__name__,)
        elif isinstance(obj, type | FunctionType | BuiltinFunctionType):
            self.named.add(obj.__module__)
        if obj is self.told and obj is not None:
            return torch.tensor, (0,)
        refusal = _refusal(obj)
        if refusal is not None:
            raise _Refused(refusal)
        return super().reducer_override(obj)


def _refusal(obj: Any) -> str | None:
    if isinstance(obj, torch.Tensor):
        if obj.device.type not in ("cpu", "meta"):
            return f"is a tensor on {obj.device}"
        if obj.is_shared():
            return "is a tensor in memory shared with the trainer"
    elif isinstance(obj, np.ndarray):
        if isinstance(obj, np.memmap):
            return "is a memory map, which would travel with its whole content"
        if _is_mapped(obj):
            return "is an array in memory shared with the trainer"
    elif isinstance(obj, io.IOBase):
        return "is an open file"
    return None


def _is_mapped(array: np.ndarray) -> bool:
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return isinstance(base, mmap.mmap)


def _blame(parts: dict[str, Any], error: Exception) -> str:
    """Which attribute it was: the deepest one that does not pickle by itself."""
    for name, part in parts.items():
        problem = _problem(part)
        if problem is None:
            continue
        path, value = name, part
        for _ in range(8):
            if _refusal(value) is not None:
                break
            step = next(
                ((n, v, p) for n, v in _children(value) if (p := _problem(v)) is not None), None
            )
            if step is None:
                break
            path, value, problem = path + step[0], step[1], step[2]
        if isinstance(problem, _Refused):
            return f"{path} {problem}"
        kind = value if callable(value) else type(value)
        return f"{path} ({name_of(kind)}) does not pickle: {problem}"
    return f"the pipeline does not pickle: {error}"


def _problem(value: Any) -> Exception | None:
    try:
        _dumps(value)
    except _STOPS as error:
        return error
    return None


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"[{i}]", item) for i, item in enumerate(value[:100]))
    else:
        yield from ((f".{name}", item) for name, item in getattr(value, "__dict__", {}).items())
        closure = getattr(value, "__closure__", None) or ()
        names = getattr(getattr(value, "__code__", None), "co_freevars", ())
        for name, cell in zip(names, closure, strict=False):
            yield f".<{name}>", cell.cell_contents
