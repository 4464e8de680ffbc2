"""A part of an array by the index, and what NumPy and torch make of it."""

import sys
from collections.abc import Callable
from dataclasses import replace
from types import BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType
from typing import Any

import numpy as np
import torch

from ...native.genuine import is_genuine
from ...native.plan import DTYPES, TORCH_DTYPES
from ...records import dataclass
from ..proof.lookup import lookup
from ..views.values import Held, Special, Stop, is_constant, name
from .affine import Affine

ARRAYS = (np.ndarray, np.memmap)
_TO_TENSOR = ("from_numpy", "as_tensor", "tensor")
_TO_ARRAY = ("array", "asarray", "ascontiguousarray")
_NAMED = {"long": "int64", "int": "int32", "float": "float32", "double": "float64"}
_INTEGERS = ("u", "i")


@dataclass(frozen=True, eq=False)
class Window(Special):
    """thing: the array or tensor of the program's. at: the first row. rows: how many; None: one, without
    its dimension. dtype: of the elements as they are now; big-endian ones stay so in NumPy. is_tensor:
    whether it is torch's; a row of one dimension less than 1 of NumPy's is a scalar."""

    thing: Any
    at: Affine
    rows: int | None
    dtype: np.dtype[Any] | str
    is_tensor: bool

    called = "a part of an array"

    @property
    def of_tensor(self) -> bool:
        """Whether the program holds a tensor."""
        return type(self.thing) is torch.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        rest = tuple(self.thing.shape[1:])
        return rest if self.rows is None else (self.rows, *rest)

    def attribute(self, f: Any, of: str) -> Any:
        rules = _OF_TENSORS if self.is_tensor else _OF_ARRAYS
        if of not in rules:
            raise Stop(f"uses .{of} of {self.called}")
        if not self.is_tensor and not self.shape:
            raise Stop(f"uses .{of} of a number of an array")
        owner = torch.Tensor if self.is_tensor else np.memmap
        found = f.seen.read(("method", owner, of), lambda: lookup(owner, of))
        home = torch._C.TensorBase if self.is_tensor else np.ndarray
        if type(found) is not MethodDescriptorType or found.__objclass__ is not home:
            raise Stop(f"uses .{of} of {self.called}, which the program has replaced")
        return _Method(self, of)

    def entry(self, f: Any, key: Any) -> Any:
        """A part of the rows, by constants."""
        if self.rows is None or type(key) is not slice:
            raise Stop("takes an entry of a part of an array")
        if any(type(one) not in (int, type(None)) for one in (key.start, key.stop, key.step)):
            raise Stop("takes a part of a part of an array by what is not known")
        check_entries(f, torch.Tensor if self.is_tensor else type(self.thing))
        start, stop, step = key.indices(self.rows)
        if step != 1 or stop <= start:
            raise Stop("takes every other row, or none, of a part of an array")
        at = replace(self.at, offset=self.at.offset + start)
        return replace(self, at=at, rows=stop - start)

    def cast(self, dtype: Any) -> "Window":
        """Raises Stop where one step from the file's elements is not the same."""
        if self.dtype == dtype:
            return self
        before, after = _numpys(self.dtype), _numpys(dtype)
        if before is None or after is None or before.kind not in _INTEGERS:
            raise Stop(f"makes elements of {self.dtype} ones of {dtype}")
        if after.kind not in (*_INTEGERS, "f") or after == np.float16:
            raise Stop(f"makes elements of {self.dtype} ones of {dtype}")
        # What went through another type is the same only if that one holds every value.
        first = _numpys(dtype_of(self.thing))
        if first is None or not np.can_cast(first, before, "safe"):
            raise Stop("changes the type of elements twice")
        return replace(self, dtype=dtype)

    def as_tensor(self, of: str) -> "Window":
        if self.is_tensor:
            raise Stop(f"calls torch.{of} of a tensor")
        if not self.shape and of == "from_numpy":
            raise Stop("calls torch.from_numpy of a number")
        found = _numpys(self.dtype)
        known = found is not None and type(vars(torch).get(found.name)) is torch.dtype
        if found is None or not known or not found.isnative:
            raise Stop(f"makes a tensor of elements of {self.dtype}", ".astype(np.int64)")
        return replace(self, is_tensor=True, dtype=found.name)

    def elements(self) -> tuple[str, str]:
        """What they are in the file, as the source's argument has it, and what they become. Raises
        Stop."""
        made, own = str(self.dtype), dtype_of(self.thing)
        if not self.is_tensor or made not in TORCH_DTYPES:
            raise Stop(
                f"returns elements of {self.dtype}", ".astype(np.int64), and torch.from_numpy"
            )
        numpys = _numpys(own)
        if str(own) == made or numpys is None:
            return "", made
        return numpys.str, made


class _Method(Special):
    called = "a method of a part of an array"

    def __init__(self, window: Window, of: str) -> None:
        self._window, self._of = window, of

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        rules = _OF_TENSORS if self._window.is_tensor else _OF_ARRAYS
        return rules[self._of](self._window, self._of, args, named)


def check_entries(f: Any, kind: type) -> None:
    """Raises Stop unless value[key] of that class is the library's own."""
    found = f.seen.read(("entries", kind), lambda: lookup(kind, "__getitem__"))
    own = np.ndarray if kind is np.ndarray else torch._C.TensorBase
    if kind is np.memmap and is_genuine(found, "numpy"):
        return
    if type(found) is not WrapperDescriptorType or found.__objclass__ is not own:
        raise Stop(
            f"takes an entry by {name(Held(kind))}.__getitem__, which the program has replaced"
        )


def dtype_of(thing: Any) -> np.dtype[Any] | str:
    """Of an array its NumPy's, of a tensor the name of torch's."""
    return thing.dtype if type(thing) in ARRAYS else str(thing.dtype).removeprefix("torch.")


def _numpys(dtype: Any) -> np.dtype[Any] | None:
    """None: torch's own, as bfloat16."""
    try:
        made: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        return None
    return made


def function_rule(thing: Any) -> Callable[..., Any] | None:
    """What a call of torch's or NumPy's own function makes of a window; None: it is another one."""
    if type(thing) is not BuiltinFunctionType:
        return None
    of = str(thing.__name__)
    if of in _TO_TENSOR and thing is vars(torch).get(of):
        return lambda f, args, named: _tensor(of, args, named)
    if of in _TO_ARRAY and thing is vars(sys.modules["numpy"]).get(of):
        return lambda f, args, named: _array(of, args, named)
    return None


def _tensor(of: str, args: list[Any], named: dict[str, Any]) -> Window:
    window = _only(of, args[:1])
    made = window.as_tensor(of)
    if len(args) > 1 or set(named) - ({"dtype"} if of != "from_numpy" else set()):
        raise Stop(f"calls torch.{of} with more than an array and a type")
    return made.cast(_torchs(of, named["dtype"])) if named else made


def _array(of: str, args: list[Any], named: dict[str, Any]) -> Window:
    window = _only(of, args[:1])
    if window.is_tensor or not window.shape:
        raise Stop(f"calls numpy.{of} of other than an array")
    given = [*args[1:], *named.values()]
    if set(named) - {"dtype"} or len(given) > 1:
        raise Stop(f"calls numpy.{of} with more than an array and a type")
    return window.cast(_numpy_type(of, given[0])) if given else window


def _only(of: str, args: list[Any]) -> Window:
    if not args or type(args[0]) is not Window:
        raise Stop(f"calls {of} of {name(args[0]) if args else 'nothing'}")
    return args[0]


def _astype(window: Window, of: str, args: list[Any], named: dict[str, Any]) -> Window:
    """`copy` says nothing of the values."""
    given = [*args, *([named["dtype"]] if "dtype" in named else [])]
    if (
        len(given) != 1
        or set(named) - {"dtype", "copy"}
        or type(named.get("copy", True)) is not bool
    ):
        raise Stop(f"calls {of} with more than a type")
    return window.cast(_numpy_type(of, given[0]))


def _to(window: Window, of: str, args: list[Any], named: dict[str, Any]) -> Window:
    given = [*args, *named.values()]
    if len(given) != 1 or set(named) - {"dtype"}:
        raise Stop(f"calls {of} with other than a type")
    return window.cast(_torchs(of, given[0]))


def _to_named(window: Window, of: str, args: list[Any], named: dict[str, Any]) -> Window:
    _no_more(of, args, named)
    return window.cast(_NAMED[of])


def _same(window: Window, of: str, args: list[Any], named: dict[str, Any]) -> Window:
    _no_more(of, args, named)
    return window


def _no_more(of: str, args: list[Any], named: dict[str, Any]) -> None:
    if args or named:
        raise Stop(f"calls {of} with arguments")


def _numpy_type(of: str, value: Any) -> np.dtype[Any]:
    thing = value.thing if type(value) is Held else value
    known = isinstance(thing, np.dtype) or thing is int or thing is float
    if not known and not (type(thing) is type and issubclass(thing, np.number)):
        if not is_constant(thing) or type(thing) is not str:
            raise Stop(f"calls {of} with {name(value)}")
    try:
        made: np.dtype[Any] = np.dtype(thing)
    except TypeError:
        raise Stop(f"calls {of} with {name(value)}") from None
    return made


def _torchs(of: str, value: Any) -> str:
    thing = value.thing if type(value) is Held else value
    if type(thing) is not torch.dtype or thing not in DTYPES:
        raise Stop(f"calls {of} with {name(value)}")
    return DTYPES[thing]


_OF_ARRAYS: dict[str, Callable[..., Window]] = {"astype": _astype, "copy": _same}
_OF_TENSORS: dict[str, Callable[..., Window]] = {
    **dict.fromkeys(_NAMED, _to_named),
    "to": _to,
    "type": _to,
    "clone": _same,
    "contiguous": _same,
}
