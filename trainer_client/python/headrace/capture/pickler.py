"""The pickler of bundles: cloudpickle, less what it pickles without complaint but with another
meaning, and with what it can't pickle and a worker can make again (stage/rebuild.py).

The same objects give the same bytes, whenever they are pickled: the signature of a plan depends on it.
"""

import functools
import importlib
import io
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle
import torch

from ..process.modules import namespace
from ..stage import rebuild
from . import handles

_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_SKELETON = cloudpickle.cloudpickle._make_skeleton_class
_ENUM_SKELETON = cloudpickle.cloudpickle._make_skeleton_enum


class Late:
    """Stands at the end of a bundle for a call that is known when all else is pickled."""

    def __init__(self, call: Callable[["Pickler"], tuple[Any, ...]]) -> None:
        self.call = call  # what the unpickler calls, and its arguments


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    def __init__(
        self,
        file: Any,
        own: dict[str, ModuleType],
        leave_out: Callable[[ModuleType], set[str]] | None = None,
    ) -> None:
        """`own`: the program's modules by name; they travel by value. `leave_out`: names in one of
        them that stay here."""
        super().__init__(file, protocol=5)
        self.file = file
        self.own = own
        self.named: set[str] = set()  # modules that it has met
        self.functions: dict[int, FunctionType] = {}  # that travel by value
        self.classes: dict[int, type] = {}  # that travel by name
        self.left: list[tuple[ModuleType, str]] = []  # what was left out
        self._leave_out = leave_out

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Late):
            call, *arguments = obj.call(self)
            return call, tuple(arguments)
        if isinstance(obj, ModuleType):
            return self._module(obj)
        if isinstance(obj, type | FunctionType | BuiltinFunctionType):
            self.named.add(obj.__module__ or "builtins")
        elif isinstance(obj, functools._lru_cache_wrapper):
            return self._lru_cache(obj)
        elif isinstance(obj, functools.cached_property):
            return rebuild.cached_property, (obj.func, obj.attrname)
        if isinstance(obj, io.IOBase) and (stream := _stream(obj)):
            return getattr, (sys, stream)
        if (handle := handles.reduced(obj)) is not None:
            return handle
        reason = _own_refusal(obj)
        if reason is not None:
            raise handles.Refused(reason)
        return _code(obj) if isinstance(obj, CodeType) else self._by_cloudpickle(obj)

    def travels(self, obj: Any) -> bool:
        """Whether a function, class or wrapper goes by value: a worker can't find it by its name."""
        module, name = obj.__module__, obj.__qualname__
        if module is None or module == "__main__" or module in self.own:
            return True
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is not obj

    def _by_cloudpickle(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        if not isinstance(obj, type | FunctionType):
            return reduced
        if not isinstance(reduced, tuple):
            if isinstance(obj, type):
                self.classes[id(obj)] = obj
        elif isinstance(obj, FunctionType):
            self.functions[id(obj)] = obj
        elif reduced[0] in (_SKELETON, _ENUM_SKELETON):
            names = reduced[2][0]
            # copyreg writes it into the class at the first pickle of one of its instances, and a look
            # at annotations writes empty ones.
            names.pop("__slotnames__", None)
            if not names.get("__annotations__", True):
                del names["__annotations__"]
            if reduced[0] is _SKELETON:
                return rebuild.skeleton_class, *reduced[1:]
        return reduced

    def _module(self, module: ModuleType) -> Any:
        name = namespace(module).get("__name__", "")
        self.named.add(name)
        if type(module) is not ModuleType and sys.modules.get(name) is module:
            # An example is torch.ops, which cloudpickle takes along where code names torch and
            # x.ops.
            return importlib.import_module, (name,)
        if name not in self.own or self._leave_out is None:
            return super().reducer_override(module)
        call, (_, state) = cloudpickle.cloudpickle._module_reduce(module)
        for left in self._leave_out(module):
            del state[left]
            self.left.append((module, left))
        return call, (name, state)

    def _lru_cache(self, obj: Any) -> Any:
        """Pickles it by its name, as usual, if it has one that a worker knows."""
        if not self.travels(obj):
            return NotImplemented
        return rebuild.lru_cached, (obj.__wrapped__, obj.cache_parameters()), _more_of(obj)


def _code(code: CodeType) -> Any:
    """With the name of its file, which tracebacks show and proofs read. cloudpickle 3.1.3 writes
    another one; releases before it wrote this one."""
    make, parts = cloudpickle.cloudpickle._code_reduce(code)
    file = sys.intern(code.co_filename)
    return make, tuple(file if part == "<dynamic-code>" else part for part in parts)


def _more_of(wrapper: Any) -> dict[str, Any] | None:
    """Attributes that the program gave it beside those of functools."""
    given = set(functools.WRAPPER_ASSIGNMENTS) | {"__wrapped__", "cache_parameters"}
    more = {name: value for name, value in vars(wrapper).items() if name not in given}
    return more or None


def names_in_code(code: CodeType) -> set[str]:
    """Names and texts of a function's code, and of the code in it: all that it can read by a name that
    is written there."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, str):
            names.add(constant)
        elif isinstance(constant, CodeType):
            names |= names_in_code(constant)
    return names


def refusal(obj: Any) -> str | None:
    """Why `obj` itself would mean something else in another process; None: it would not."""
    reason = handles.refusal(obj)
    if reason is not None:
        return reason
    return None if handles.is_handle(obj) else _own_refusal(obj)


def _own_refusal(obj: Any) -> str | None:
    """As refusal(), of what is no handle of a file."""
    if isinstance(obj, torch.Tensor):
        if obj.device.type not in ("cpu", "meta"):
            return f"is a tensor on {obj.device}"
        if obj.is_shared():
            return "is a tensor in memory shared with the trainer"
    elif isinstance(obj, io.IOBase):
        return None if _stream(obj) else "is an open file"
    elif isinstance(obj, Connection):
        return "is a connection to another process"
    elif _is_of("multiprocessing.managers", ("BaseProxy", "BaseManager"), obj):
        return "is a connection to a multiprocessing.Manager"
    elif _is_of("multiprocessing.shared_memory", ("SharedMemory", "ShareableList"), obj):
        return "is memory shared with the trainer"
    return None


def _stream(file: io.IOBase) -> str | None:
    """Its name in sys, if it is one that each process has; not what the program has put there."""
    if type(file) is not io.TextIOWrapper:
        return None
    return next((name for name in _STREAMS if file is getattr(sys, name)), None)


def _is_of(module: str, names: tuple[str, ...], obj: Any) -> bool:
    """Without an import: an object of a class cannot be there before its module."""
    there = sys.modules.get(module)
    return there is not None and isinstance(obj, tuple(getattr(there, name) for name in names))
