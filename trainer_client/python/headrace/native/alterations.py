"""What the program has replaced in the libraries that native operators stand for.

A native plan makes what the installed libraries make. Programs change them: `Image.open = upright`,
`T.Normalize.forward = ...`, a function of torchvision.transforms.functional wrapped for a log. Whatever
native code stands for is therefore looked at before it is used, at each iter().

A function is the library's own if it and everything that it wraps was written in the library's folder,
and if it is bound under the name under which it was written. A name that the module's own text binds to
something else (`hflip = horizontal_flip`) is no change. Wrappers of ours, of torch's and of the standard
library's (`torch.no_grad()`) count as what they wrap.

Pure but for the looking; any thread. What was found whole is kept as identities, so that a look
again costs some hundred microseconds and the first one some milliseconds. A look again writes no
counts into what it looks at: the trainer shares that with its lanes (docs/adr/0113-uncounted-looks.md).
"""

import builtins
import functools
import gc
import io
import itertools
import operator
import os
import re
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from enum import EnumMeta
from typing import Any, cast

from ..process.module_table import ModuleTable
from . import binding, timm_text
from .genuine import BUILTIN, OURS, is_genuine
from .primitives import WATCHED, first_altered_primitive

# What a plan may stand for, and where that is written. A trailing dot: whatever is below, too.
BATCHES, DATASETS, PICTURES, TRANSFORMS = "batches", "datasets", "pictures", "transforms"
TIMM = "timm"
_MODULES: dict[str, tuple[str, ...]] = {
    BATCHES: (
        "torch.utils.data._utils.collate",
        "torch.utils.data._utils.fetch",
        "torch.utils.data.dataset",
    ),
    DATASETS: (
        "torchvision.datasets.folder",
        "torchvision.datasets.vision",
        "torchvision.datasets.mnist",
        "torchvision.datasets.cifar",
    ),
    PICTURES: (
        "PIL.Image",
        "PIL.ImageFile",
        "PIL.ImagePalette",
        "PIL.JpegImagePlugin",
        "PIL.PngImagePlugin",
    ),
    TRANSFORMS: (
        "torchvision.transforms.",
        "torchvision.tv_tensors.",
        "torch.nn.modules.module",
        "torch.nn.modules.container",
        "PIL.Image",
        "PIL.ImageChops",
        "PIL.ImageEnhance",
        "PIL.ImageFilter",
        "PIL.ImageOps",
    ),
    TIMM: timm_text.MODULES,
}
# What takes part when a torch.nn.Module is made or called: libraries add other methods to that class.
_OF_MODULE_CALLS = (
    "__call__", "__delattr__", "__getattr__", "__getattribute__", "__init__", "__new__", "__setattr__",
    "__setstate__", "_call_impl", "_wrapped_call_impl", "forward",
)  # fmt: skip
_OF_NO_SAMPLE = ("__init_subclass__", "__subclasshook__", "__class_getitem__")
_PACKAGES = ("torch", "torchvision", "PIL", "timm")


def first_alteration(groups: Iterable[str]) -> str:
    """The name of the first thing in these groups that is not the library's own; empty: there is
    none. Only modules that the program has imported are looked at; nothing is imported."""
    with _lock:
        for group in groups:
            if found := _group_alteration(group):
                return found
    return ""


class Watch:
    """A few namespaces as they are now. A look for every sample takes some microseconds.
    Thread-compatible. Sees rebound names, not changes of a function's own parts."""

    def __init__(
        self,
        classes: Iterable[type],
        modules: Iterable[types.ModuleType],
        parts: Iterable[tuple[types.ModuleType, Iterable[str]]] = (),
    ) -> None:
        """`parts`: modules of which these names alone are looked at."""
        self._classes = [(_space_of(cls), dict(vars(cls))) for cls in dict.fromkeys(classes)]
        self._spaces = [_Names(vars(module)) for module in modules]
        self._spaces += [_Names(vars(module), names) for module, names in parts]

    def same(self) -> bool:
        return all(itertools.starmap(binding.items_are, self._classes)) and all(
            names.same() for names in self._spaces
        )


def _space_of(cls: type) -> dict[str, Any]:
    """The namespace itself, which vars() shows through a proxy. For looking only."""
    (space,) = gc.get_referents(vars(cls))
    return cast(dict[str, Any], space)


class _Names:
    """The callables of a module by name, or some of them, and what they were."""

    def __init__(self, space: dict[str, Any], wanted: Iterable[str] | None = None) -> None:
        self._space = space
        self._names = tuple(name for name in wanted or space if callable(space.get(name)))
        self._then = tuple(map(space.get, self._names))

    def same(self) -> bool:
        return bool(binding.names_are(self._space, self._names, self._then))


_Parts = tuple[list[types.FunctionType], list[Any]]
_parts_of = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")
_lock = threading.Lock()


class _Seen:
    """A group that was found whole."""

    def __init__(self, modules: list[types.ModuleType]) -> None:
        self._modules = modules
        self._watch = Watch((cls for m in modules for cls in _classes_of(m)), modules)
        self._functions = [f for m in modules for f in _functions_of(m)]
        self._parts = list(map(_parts_of, self._functions))

    def same(self, modules: list[types.ModuleType]) -> bool:
        if len(modules) != len(self._modules) or not all(map(operator.is_, modules, self._modules)):
            return False
        return self._watch.same() and binding.parts_are(self._functions, self._parts)


_seen: dict[str, _Seen] = {}


def _group_alteration(group: str) -> str:
    if group in (BATCHES, TRANSFORMS) and (found := first_altered_primitive()):
        return found
    if group in (PICTURES, TRANSFORMS) and builtins.open is not io.open:
        return "builtins.open"
    if group == TRANSFORMS and (found := _kernel_alteration()):
        return found
    if group == TIMM and (found := timm_text.first_difference()):
        return found
    modules = _modules_of(group)
    if group in _seen and _seen[group].same(modules):
        return ""
    _seen.pop(group, None)
    for module in modules:
        if found := _module_alteration(module):
            return found
    _seen[group] = _Seen(modules)
    return ""


def _modules_of(group: str) -> list[types.ModuleType]:
    found = []
    for name in _MODULES[group]:
        if not name.endswith("."):
            found.append(sys.modules.get(name))
        elif name[:-1] in sys.modules:
            found += map(sys.modules.get, _names_below(name))
    return [module for module in found if module is not None]


_below: dict[str, tuple[ModuleTable, list[str]]] = {}
_all: dict[str, list[str]] = {}  # modules that there were then
_is_fork = False


def _names_below(prefix: str) -> list[str]:
    """The names of modules. A fork goes on from what its parent found, and looks only at new
    ones; its parent, while there are the very same modules."""
    table, names = _below.get(prefix, (ModuleTable(), []))
    kept, new = table.news()
    if not (kept and _is_fork):
        if _is_fork or not binding.keys_are(sys.modules, _all.get(prefix, [])):
            every = _all[prefix] = list(sys.modules)
            names, new = [], [one for one in every if isinstance(one, str)]
        else:
            new = []
    names = names + [one for one in new if one.startswith(prefix) or one == prefix[:-1]]
    _below[prefix] = table, names
    return names


def _after_fork_in_child() -> None:
    """Resets the lock and the unfinished look of another thread, which does not exist in the
    child."""
    global _is_fork, _lock
    _is_fork = True
    if _lock.locked():
        _lock = threading.Lock()
        _seen.clear()
        _below.clear()
        _all.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)


def _kernel_alteration() -> str:
    """v2's functions look up what they do in a table; programs may add kernels for types of theirs."""
    module = sys.modules.get("torchvision.transforms.v2.functional._utils")
    for function, kernels in getattr(module, "_KERNEL_REGISTRY", {}).items():
        for kind, kernel in kernels.items():
            of_library = kind.__module__.partition(".")[0] in _PACKAGES
            if of_library and not is_genuine(kernel, "torchvision"):
                return f"the kernel of {function.__name__} for {kind.__name__}"
    return ""


def _module_alteration(module: types.ModuleType) -> str:
    for name, value in list(vars(module).items()):
        if type(value) is types.GenericAlias:
            continue
        if isinstance(value, type):
            if not _class_is_own(module, name, value):
                return f"{module.__name__}.{name}"
            if value.__module__ == module.__name__ and (found := _member_alteration(module, value)):
                return found
        elif callable(value) and not _is_own(module, name, value):
            return f"{module.__name__}.{name}"
    return ""


def _class_is_own(module: types.ModuleType, name: str, cls: type) -> bool:
    if cls.__name__ == name and cls.__module__ == module.__name__:
        return True
    return _is_at_home(name, cls) or _is_bound_in_text(module, name)


def _is_at_home(name: str, value: Any) -> bool:
    """Imported under its own name, as its own module still has it."""
    home = getattr(value, "__module__", None) or ""
    if _package(home) not in _PACKAGES and home not in sys.stdlib_module_names:
        return False
    return value.__name__ == name and getattr(sys.modules.get(home), name, None) is value


def _is_own(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a callable in a module's namespace is the module's own."""
    if isinstance(value, types.FunctionType):
        home = getattr(value, "__module__", None) or ""
        here = value.__name__ == name and home == module.__name__ or _is_at_home(name, value)
        return is_genuine(value, _package(home)) and (here or _is_bound_in_text(module, name))
    if name.startswith("__") or type(value).__module__ in ("typing", "typing_extensions"):
        return True  # a module's own loader; names for types, of which older Pythons lack some
    if isinstance(value, functools.partial):
        return _is_bound_in_text(module, name) and _is_own_part(value.func)
    if isinstance(value, BUILTIN):
        return value.__name__ == name or _is_bound_in_text(module, name)
    kind = _package(type(value).__module__)
    return kind in (*_PACKAGES, "builtins") and _is_bound_in_text(module, name)


def _is_own_part(value: Any) -> bool:
    if isinstance(value, types.FunctionType):
        return is_genuine(value, _package(value.__module__))
    return isinstance(value, (*BUILTIN, type))


def _is_module(cls: type) -> bool:
    return (cls.__module__, cls.__qualname__) == ("torch.nn.modules.module", "Module")


def _member_alteration(module: types.ModuleType, cls: type) -> str:
    if isinstance(cls, EnumMeta) or issubclass(cls, tuple) or getattr(cls, "_is_protocol", False):
        return ""  # made by the standard library, and no code of a sample
    package = _package(module.__name__)
    for name, value in list(vars(cls).items()):
        if name in _OF_NO_SAMPLE or (_is_module(cls) and name not in _OF_MODULE_CALLS):
            continue
        function = _function_in(value)
        if function is None:
            plain = isinstance(value, (*BUILTIN, type, property, staticmethod, classmethod))
            if plain or not callable(value) or _package(type(value).__module__) in _PACKAGES:
                continue
            return f"{cls.__module__}.{cls.__qualname__}.{name}"
        own = function.__code__.co_filename.startswith(OURS) or function.__qualname__ in (
            f"{cls.__qualname__}.{_unmangled(cls, name)}",
            f"object.{name}",  # `deprecated` wraps what the class inherits
        )
        if not is_genuine(function, package) or not (own or _is_bound_in_text(module, name)):
            return f"{cls.__module__}.{cls.__qualname__}.{name}"
    return ""


def _unmangled(cls: type, name: str) -> str:
    prefix = f"_{cls.__name__.lstrip('_')}__"
    return name[len(prefix) - 2 :] if name.startswith(prefix) else name


def _function_in(value: Any) -> types.FunctionType | None:
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, functools.cached_property):
        value = value.func
    return value if isinstance(value, types.FunctionType) else None


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_bound_in_text(module: types.ModuleType, name: str) -> bool:
    """Whether the module's own text binds the name other than by def and class."""
    return _binds(getattr(module, "__file__", None) or "", name)


@functools.cache
def _binds(file: str, name: str) -> bool:
    text, at = _text(file), -1
    while (at := text.find(name, at + 1)) >= 0:
        begin = text.rfind("\n", 0, at) + 1
        before, behind = text[begin:at], text[at + len(name) : text.find("\n", at)]
        if (before[-1:] + behind[:1]).replace("_", "a").isalnum() and not before[-1:] == " ":
            continue  # a part of another name
        if not before.strip() and re.match(r"\s*(:[^=]*)?=(?!=)", behind):
            return True
        opened = text.rfind("import (", 0, at)
        in_list = opened >= 0 and ")" not in text[opened:at]
        if in_list or re.match(r"\s*(from .*)?(import|for|with|except)\b", before):
            return True
    return False


@functools.cache
def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as source:
            return source.read()
    except (OSError, UnicodeDecodeError):
        return ""


def _classes_of(module: types.ModuleType) -> Iterator[type]:
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value


def _functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    for value in vars(module).values():
        if isinstance(value, types.FunctionType):
            yield value
    for cls in _classes_of(module):
        for value in vars(cls).values():
            function = _function_in(value)
            if function is not None:
                yield function


def watch_of(transforms: Iterable[Any]) -> Watch:
    """What calls of these transforms go through, as it is now."""
    classes = [
        cls
        for transform in transforms
        for cls in type(transform).__mro__
        if _package(cls.__module__) in _PACKAGES
    ]
    names = [
        "torchvision.transforms.functional",
        "torchvision.transforms._functional_pil",
        "torchvision.transforms._functional_tensor",
        "torchvision.transforms.v2.functional",
    ]
    modules = [sys.modules[name] for name in names if name in sys.modules]
    parts = [(sys.modules[name], of) for name, of in WATCHED.items() if name in sys.modules]
    return Watch([*classes, *_tensor_class()], modules, parts)


def _tensor_class() -> list[type]:
    torch = sys.modules.get("torch")
    return [torch.Tensor] if torch is not None else []
