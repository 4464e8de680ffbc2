"""What an expression of the pipeline's code may stand for.

A value with a path outlives the call: "self.cache", "global SEEN", "closure variable n". A value
without one was made in this call, so writing to it leaves no trace. Where the live object is known,
attributes and methods are looked up on it, without running any of its code.
"""

import ast
import collections
import functools
import inspect
import io
import os
import random
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from .names import DRAWING_CLASSES

# Packages whose code is known not to keep state of the kind that is looked for, or too large to
# read; user code that their objects hold is found through the objects.
_TRUSTED = {
    "torch", "torchvision", "torchaudio", "numpy", "PIL", "cv2", "scipy", "skimage", "pandas",
    "albumentations", "albucore", "kornia", "h5py", "lmdb", "pyarrow", "datasets", "transformers",
    "tokenizers", "timm", "lightning", "pytorch_lightning", "accelerate", "imageio", "tifffile",
    "zarr", "soundfile", "librosa", "nibabel", "pydicom", "matplotlib", "sklearn", "tqdm",
    "cloudpickle", "packaging", "yaml", "fsspec", "headrace",
    # Of these only the transforms and helpers: their datasets cache, queue and write files.
    "monai.transforms", "monai.utils", "monai.config", "torchio.transforms",
    *sys.stdlib_module_names,
} - {"__main__"}  # fmt: skip

_FOUNDATION = {"torch", "torchvision", "numpy", "PIL", "headrace"}  # wherever they lie

_IMMUTABLE = (
    int, float, complex, bool, str, bytes, type(None), range, torch.dtype, torch.device,
    frozenset, type(Ellipsis), slice,
)  # fmt: skip
_CONTAINERS = (list, dict, set, tuple, collections.deque, frozenset)
AN_ITERATOR = "an iterator"
SHARED_GENERATOR = "a random generator that is shared by the program"
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState, torch.Generator)

MANY = 64  # entries of a container that are looked at one by one


@dataclass(frozen=True)
class Value:
    path: str = ""  # empty: made in this call
    objects: tuple[Any, ...] = ()  # what it may be; empty: not known
    item: str = ""  # selected from its container by this key (a dumped expression)
    made_by: type | None = field(default=None, compare=False)  # of one made in this call
    bound: Any = None  # for a method: the Value of its object

    @property
    def shared(self) -> bool:
        return bool(self.path)


FRESH = Value()


def joined(values: Iterable[Value]) -> Value:
    """One value that stands for each of them."""
    values = list(values)
    if len(values) == 1:
        return values[0]
    shared = [value for value in values if value.shared]
    if not shared:
        made = next((value for value in values if value.made_by), None)
        return made or FRESH
    objects = tuple(item for value in shared for item in value.objects)[:MANY]
    return Value(shared[0].path, objects, shared[0].item, bound=shared[0].bound)


def is_own_code(thing: Any) -> bool:
    """True for functions and classes that are read rather than trusted."""
    module = getattr(thing, "__module__", None) or "__main__"
    package, _, rest = module.partition(".")
    part = f"{package}.{rest.partition('.')[0]}"
    known = package in _TRUSTED or part in _TRUSTED
    return not known or not _is_installed(package)


@functools.cache
def _is_installed(package: str) -> bool:
    """False for a package of the program's own that has a library's name: datasets, code."""
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), None)
    if file is None or package in _FOUNDATION:
        return True
    parts = file.replace(os.sep, "/").split("/")
    if "site-packages" in parts or "dist-packages" in parts:
        return True
    return file.startswith(tuple(sysconfig.get_path(p) for p in ("stdlib", "platstdlib")))


def is_immutable(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) <= MANY and all(map(is_immutable, value))
    return isinstance(value, _IMMUTABLE)


def is_generator(value: Any) -> bool:
    """A random generator: its state travels with the lane (stage/randomness.py)."""
    return isinstance(value, _GENERATORS)


def consumed_by_use(value: Any) -> str:
    """What makes each use of this object change it; empty: nothing known."""
    if any(value is stream for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)):
        return ""
    if isinstance(value, io.IOBase):
        return "an open file"
    module, name = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "sqlite3" or name in ("Cursor", "Connection"):
        return "a database connection"
    if module in ("socket", "_socket", "queue", "_queue", "multiprocessing"):
        return f"a {module.strip('_')} object"
    if isinstance(value, types.GeneratorType):
        return "a running generator"
    return AN_ITERATOR if isinstance(value, collections.abc.Iterator) else ""


def attribute(owner: Value, name: str) -> Value:
    """owner.name, without running the owner's code. Properties and methods come back unbound in
    `objects`, with `bound` set."""
    path = f"{owner.path}.{name}" if owner.shared else ""
    if not owner.shared and owner.made_by is not None:
        found = inspect.getattr_static(owner.made_by, name, None)
        return _member(owner, found, "") if found is not None else FRESH
    values = []
    for thing in owner.objects:
        found = _static(thing, name)
        if found is not _MISSING:
            values.append(_member(owner, found, path))
    if values:
        return joined(values) if len(values) > 1 else values[0]
    return Value(path) if path else FRESH


_MISSING = object()


def _static(thing: Any, name: str) -> Any:
    if isinstance(thing, types.ModuleType):
        return vars(thing).get(name, _MISSING)
    found = inspect.getattr_static(thing, name, _MISSING)
    if isinstance(found, types.MemberDescriptorType):  # __slots__
        return getattr(thing, name, _MISSING)
    if found is _MISSING and isinstance(thing, torch.nn.Module):
        for table in ("_modules", "_parameters", "_buffers"):
            found = vars(thing).get(table, {}).get(name, _MISSING)
            if found is not _MISSING:
                return found
    return found


def _member(owner: Value, found: Any, path: str) -> Value:
    if isinstance(found, staticmethod):
        return Value(path or "static", (found.__func__,))
    if isinstance(found, classmethod):
        return Value(path or "class", (found.__func__,), bound=owner)
    if isinstance(found, types.FunctionType | property | functools.cached_property):
        in_class = not any(
            found is v for o in owner.objects for v in getattr(o, "__dict__", {}).values()
        )
        modules = any(isinstance(o, types.ModuleType) for o in owner.objects)
        return Value(path or "method", (found,), bound=owner if in_class and not modules else None)
    return Value(path or "class attribute", (found,))


def items(owner: Value, key: str = "") -> Value:
    """An entry of a container; `key`: the expression that selects it, "" for each of them."""
    if not owner.shared:
        return FRESH
    path = f"{owner.path}[*]"
    if key:
        path = owner.path if owner.path.endswith("[...]") else f"{owner.path}[...]"
    found: list[Any] = []
    for thing in owner.objects:
        if isinstance(thing, _CONTAINERS):
            entries = thing.values() if isinstance(thing, dict) else thing
            first = [entry for entry, _ in zip(entries, range(MANY), strict=False)]
            found += first
        elif isinstance(thing, torch.nn.Module):
            found += list(thing.children())[:MANY]
        elif isinstance(thing, np.ndarray | torch.Tensor):
            found.append(thing)  # a view
        elif isinstance(thing, str | bytes):
            return FRESH
    if found and all(map(is_immutable, found)):
        return FRESH
    return Value(path, tuple(found[:MANY]), key or owner.item)


def draws(root: Any) -> bool:
    """Whether a library's object, or one that it holds, draws random numbers when it is called."""
    held = [root, *(thing for _, thing in _held_by(root))]
    return any(type(thing).__name__.startswith(DRAWING_CLASSES) for thing in held)


def callables_in(root: Any) -> Iterator[tuple[str, Any]]:
    """User code that a library's object holds: functions, and objects that can be called."""
    for path, thing in _held_by(root):
        if isinstance(thing, types.MethodType):
            yield path, thing
        elif isinstance(thing, types.FunctionType):
            if is_own_code(thing):
                yield path, thing
        elif thing is not root and is_own_code(type(thing)) and call_of(thing) is not None:
            yield path, thing


def _held_by(root: Any) -> Iterator[tuple[str, Any]]:
    """The objects that it reaches by attributes and short containers, itself included."""
    seen: set[int] = set()
    todo: list[tuple[str, Any]] = [("", root)]
    while todo and len(seen) < 5_000:
        path, thing = todo.pop()
        if id(thing) in seen or is_immutable(thing):
            continue
        seen.add(id(thing))
        if isinstance(thing, functools.partial):
            todo += [(path, thing.func), *((path, item) for item in thing.args)]
        elif isinstance(thing, type | types.ModuleType | np.ndarray | torch.Tensor):
            continue
        elif isinstance(thing, _CONTAINERS):
            entries = thing.items() if isinstance(thing, dict) else enumerate(thing)
            some = [entry for entry, _ in zip(entries, range(MANY), strict=False)]
            todo += [(f"{path}[{key!r}]", entry) for key, entry in some]
        else:
            yield path, thing
            if not isinstance(thing, types.FunctionType | types.MethodType):
                todo += [(f"{path}.{n}", v) for n, v in getattr(thing, "__dict__", {}).items()]


def call_of(thing: Any) -> Any:
    """The function that runs when the object is called, or a dataset's item is taken."""
    cls = type(thing)
    if isinstance(thing, torch.nn.Module):
        return inspect.getattr_static(cls, "forward", None)
    for name in ("__call__", "__getitem__"):
        found = inspect.getattr_static(cls, name, None)
        if isinstance(found, types.FunctionType):
            return found
    return None


def text_of(node: ast.AST) -> str:
    """An expression as a key: equal for equal expressions."""
    return ast.dump(node)
