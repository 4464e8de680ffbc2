"""What the program has put into installed modules, and a worker's modules have not.

A worker imports installed modules as they are on disk. Plain values that the code names are written
there (attributes()). Functions and objects of the program keep its code on the trainer's host
(check()): replaced functions and methods, registered readers of PIL, entries of a library's registries.

Seen are objects of the program's own modules. What one installed module has put into another is there
on a worker if importing the one does it, and is not seen if a call of the program did.
"""

import builtins
import functools
import itertools
import sys
from collections.abc import Iterator
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from ..native.plan import Local
from ..process.modules import is_installed, namespace
from ..stage.process_state import Attributes
from .pickler import Pickler, names_in_code

_REMEDY = "call what is the program's own by a name of its own, from the program's own code"
_LARGEST = 1000  # entries of a registry that are looked at
_LARGEST_PLAIN = 256  # entries of a value that travels
_LARGEST_ARRAY = 1 << 20  # bytes
# Parts of torch that no sample goes through; most of its modules.
_NOT_OF_SAMPLES = (
    "torch._custom_op", "torch._decomp", "torch._dynamo", "torch._export", "torch._functorch",
    "torch._higher_order_ops", "torch._inductor", "torch._library", "torch._logging",
    "torch._native", "torch._numpy", "torch._prims", "torch._refs", "torch._strobelight",
    "torch._subclasses", "torch.ao", "torch.compiler", "torch.cuda", "torch.distributed",
    "torch.export", "torch.fx", "torch.jit", "torch.masked", "torch.mps", "torch.mtia",
    "torch.onnx", "torch.optim", "torch.package", "torch.profiler", "torch.quantization",
    "torch.testing", "torch.utils._sympy", "torch.utils.benchmark", "torch.xpu",
    "torchvision.models",
)  # fmt: skip
# Types of most values; never the program's own.
_PLAIN = frozenset((bool, bytes, complex, float, int, str, type(None)))
_NOT_OWN = _PLAIN | {ModuleType, BuiltinFunctionType, MethodDescriptorType, GetSetDescriptorType}
_REGISTRIES = (dict, list, set, tuple)
_AROUND_FUNCTIONS = (staticmethod, classmethod, MethodType)
_OTHERS = (__name__.partition(".")[0], "__main__", "__mp_main__")


def check(pickler: Pickler) -> None:
    """Raises Local with the first thing that a worker's installed modules would not have. Takes some
    milliseconds. `pickler`: has pickled the pipeline."""
    own = _Own(pickler.own)
    packages = {name.partition(".")[0] for name in pickler.named}
    if packages & {"PIL", "torchvision"}:
        packages |= {"PIL"}
        _check_readers()
    for name, module in sys.modules.copy().items():
        package = name.partition(".")[0]
        if type(module) is not ModuleType or name in pickler.own or package in _OTHERS:
            continue
        if package in packages and not name.startswith(_NOT_OF_SAMPLES):
            _check_module(name, namespace(module), own)
    for name, value in vars(builtins).items():
        if name != "_" and own.made(value):
            raise Local(f"builtins.{name} is the program's own", _REMEDY)


class _Own:
    """Which objects are the program's own."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._names = {"__main__", "__mp_main__", *modules}
        spaces = (namespace(sys.modules.get(name)) for name in self._names)
        self._globals = {id(space) for space in spaces}

    def made(self, value: Any) -> bool:
        """A function or class of the program's, or an object of such a class."""
        if type(value) is FunctionType:
            return self._is_function(value)
        kind = type(value)  # isinstance() would ask a proxy, which may raise or warn
        if issubclass(kind, type):
            return value.__module__ in self._names
        if kind.__module__ in self._names:
            return True
        if kind is property:
            return any(map(self.made, (value.fget, value.fset, value.fdel)))
        if kind is functools.partial:
            return self.made(value.func)
        return kind in _AROUND_FUNCTIONS and self.made(value.__func__)

    def holds(self, value: Any) -> bool:
        """Like made(), but also a library's function around one, or a tuple with one."""
        if self.made(value):
            return True
        if type(value) is tuple:
            return any(map(self.made, value))
        if type(value) is not FunctionType or value.__closure__ is None:
            return False
        return any(map(self.made, _contents(value)))

    def _is_function(self, function: FunctionType) -> bool:
        spaces = function.__globals__
        if id(spaces) in self._globals:
            return True
        if namespace(sys.modules.get(spaces.get("__name__", ""))) is spaces:
            return False
        # Code that was run, not imported: the program's, if it is in a file of the program's.
        file = function.__code__.co_filename
        return not file.startswith("<") and not is_installed(file)


def _contents(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _check_module(name: str, here: dict[str, Any], own: _Own) -> None:
    third_party = name.partition(".")[0] not in sys.stdlib_module_names
    for key, value in list(here.items()):
        kind = type(value)
        if kind in _NOT_OWN or (kind is FunctionType and value.__globals__ is here):
            continue
        if key == "__builtins__":  # each module has them; check() looks once
            continue
        if own.made(value):
            raise Local(f"{name}.{key} is the program's own", _REMEDY)
        if issubclass(kind, type):
            if value.__module__ == name:
                _check_class(f"{name}.{key}", value, here, own, third_party)
        elif third_party and issubclass(kind, _REGISTRIES):
            _check_registry(f"{name}.{key}", value, own)


def _check_class(name: str, cls: type, here: dict[str, Any], own: _Own, third_party: bool) -> None:
    for key, value in list(vars(cls).items()):
        kind = type(value)
        if kind in _NOT_OWN or (kind is FunctionType and value.__globals__ is here):
            continue
        if key not in ("__dict__", "__weakref__") and own.made(value):
            raise Local(f"{name}.{key} is the program's own", _REMEDY)
        if third_party and issubclass(kind, _REGISTRIES):
            _check_registry(f"{name}.{key}", value, own)


def _check_registry(name: str, value: Any, own: _Own) -> None:
    if not 0 < len(value) <= _LARGEST:
        return
    items = list(value)
    if issubclass(type(value), dict):
        items += dict.values(value)
    if _NOT_OWN.issuperset(map(type, items)):
        return
    if any(map(own.holds, items)):
        raise Local(f"{name} holds something of the program's own", _REMEDY)


def _check_readers() -> None:
    image = namespace(sys.modules.get("PIL.Image"))
    for name, (factory, _) in image.get("OPEN", {}).items():
        module = getattr(factory, "__module__", None) or ""
        if module.partition(".")[0] != "PIL":
            raise Local(
                f"PIL reads {name} by {module}.{getattr(factory, '__name__', 'a function')}, which "
                "the program has registered",
                "register it in worker_init_fn too: it then runs wherever the code does",
            )


# Plain values.


def attributes(pickler: Pickler) -> Attributes:
    """The plain attributes of installed modules that the code in the bundle names, and of installed
    classes that it has objects of. A worker gets those that differ there."""
    found: dict[tuple[str, str], Any] = {}
    for function in pickler.functions.values():
        names = names_in_code(function.__code__)
        for module in _modules_in(function, names):
            here = namespace(module)
            for name in names & here.keys():
                found[here["__name__"], name] = here[name]
    for cls in pickler.classes.values():
        if _is_library(cls.__module__):
            for name, value in vars(cls).items():
                found[cls.__module__, f"{cls.__qualname__}.{name}"] = value
    return [
        (module, path, value)
        for (module, path), value in sorted(found.items(), key=lambda item: item[0])
        if not path.rpartition(".")[2].startswith("__") and _is_plain(value)
    ]


def _modules_in(function: FunctionType, names: set[str]) -> Iterator[ModuleType]:
    """Installed modules that it has as global names, imports itself, or gets to from one of them."""
    seen: set[int] = set()
    queue = [function.__globals__.get(name) for name in names]
    queue += [sys.modules.get(name) for name in names]
    while queue:
        module = queue.pop()
        here = namespace(module)
        if not here or id(module) in seen or not _is_library(here.get("__name__", "")):
            continue
        seen.add(id(module))
        yield module  # type: ignore[misc]  # it has a namespace
        queue += [here[name] for name in names & here.keys()]


def _is_library(module: str) -> bool:
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names or package in _OTHERS:
        return False
    file = namespace(sys.modules.get(module)).get("__file__")
    return isinstance(file, str) and is_installed(file)


def _is_plain(value: Any, depth: int = 3) -> bool:
    """What comes out of a pickle as it was, and needs no import."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind is np.ndarray:
        return not value.dtype.hasobject and value.nbytes <= _LARGEST_ARRAY
    if depth == 0 or kind not in (list, tuple, dict, set, frozenset) or len(value) > _LARGEST_PLAIN:
        return False
    items = itertools.chain(value, value.values()) if kind is dict else value
    return all(_is_plain(item, depth - 1) for item in items)
