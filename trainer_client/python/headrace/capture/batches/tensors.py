"""What a collate_fn does with the tensors of samples to pad them: it asks for their sizes, and makes one
that has room for all (filled.py). How it is done in the end: native/padding.py."""

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch.nn import functional
from torch.nn.utils import rnn

from ...native.genuine import is_genuine
from ...native.padding import Blank, Count, Extended, Lengths, Sequences
from ...native.plan import DTYPES
from ..views.values import Held, Special, Stop, is_constant, name
from .filled import Made, check_torchs
from .numbers import Number, extent_of, is_number, length_along
from .values import Each, Joined, OfSample, Part, Scope

_METHODS = ("new", "new_full", "new_ones", "new_zeros")
_FUNCTIONS = ("full", "ones", "zeros")
_pad, _pad_sequence = functional.pad, rnn.pad_sequence
_OF_PAD = {"mode": (str,), "value": (int, float)}
_OF_SEQUENCES = {"batch_first": bool, "padding_value": (int, float), "padding_side": str}


def attribute(f: Any, part: Part, of: str) -> Any:
    """None: it is not followed."""
    field = part.field
    rank = f.ranks.get(field)
    if rank is None or of not in ("shape", "ndim", "size", "dim", "dtype", "device", *_METHODS):
        return None
    check_torchs(f, of)
    match of:
        case "shape":
            return tuple(length_along(field, axis, rank, part.scope) for axis in range(rank))
        case "ndim":
            return rank
        case "dtype":
            return Type(field)
        case "device":
            return Held(torch.device("cpu"))
    if of in _METHODS and part.scope is not f.first:
        return None
    return _Method(of, part, rank)


class Type(Special):
    called = "the type of a sample's tensor"

    def __init__(self, field: int) -> None:
        self.field = field


class _Method(Special):
    called = "a method of a sample's tensor"

    def __init__(self, of: str, part: Part, rank: int) -> None:
        self._of, self._part, self._rank = of, part, rank

    def call(self, f: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
        part = self._part
        if self._of == "dim":
            return self._rank if not args and not named else super().call(f, args, named, at)
        if self._of == "size":
            sizes = attribute(f, part, "shape")
            if not args and not named:
                return sizes
            if len(args) != 1 or named:
                raise Stop("calls size with arguments that are not followed")
            return length_along(part.field, args[0], self._rank, part.scope)
        return _made(f, self._of, args, named, part.field)


def rule_of(thing: Any) -> Callable[..., Any] | None:
    """What a call of torch's function does; None: it is none of these."""
    if type(thing) is FunctionType and thing in (_pad_sequence, _pad):
        if is_genuine(thing, "torch"):
            return _sequences if thing is _pad_sequence else _extended
    if type(thing) is not BuiltinFunctionType:
        return None
    for of in _FUNCTIONS:
        if thing == getattr(torch._C._VariableFunctions, of, None):
            return lambda f, args, named: _made(f, of, args, named, None)
    return None


def _made(f: Any, by: str, args: list[Any], named: dict[str, Any], like: Any) -> "Made":
    """`like`: the field of the sample whose method it is; None: torch's function."""
    if f.turns or f.functions:
        raise Stop("makes a tensor for each sample")
    given, named = list(args), dict(named)
    fill: tuple[Any, ...] = ()
    if by in ("full", "new_full"):
        fill = (given.pop(1) if len(given) == 2 else named.pop("fill_value", None),)
        if type(fill[0]) not in (int, float, bool):
            raise Stop(f"calls {by} with {name(fill[0])}")
    if "size" in named:
        given.append(named.pop("size"))
    shape = given[0] if len(given) == 1 and type(given[0]) in (list, tuple) else given
    if by in ("full", "new_full") and shape is given or not all(map(is_number, shape)):
        raise Stop(f"calls {by} with a shape that is not followed")
    if not shape or type(shape[0]) is not Number or shape[0].of != Count():
        raise Stop(f"calls {by} with other than a row for each sample")
    if named.get("device") is not None and not _is_cpu(named["device"]):
        raise Stop(f"calls {by} with a device")
    if set(named) - {"dtype", "device"} or by == "new" and named:
        raise Stop(f"calls {by} with arguments that are not followed")
    dtype = _dtype(f, by, named.get("dtype"), like, fill)
    return Made(f, Blank(by, tuple(extent_of(f, one) for one in shape), like, fill, dtype))


def _is_cpu(device: Any) -> bool:
    return device == "cpu" or type(device) is Held and device.thing == torch.device("cpu")


def _dtype(f: Any, by: str, given: Any, like: Any, fill: tuple[Any, ...]) -> str | int:
    if type(given) is Type:
        return given.field
    if type(given) is Held and type(given.thing) is torch.dtype and given.thing in DTYPES:
        return DTYPES[given.thing]
    if given is not None:
        raise Stop(f"calls {by} with {name(given)} as type")
    if like is not None:
        return ""
    if fill and type(fill[0]) is not float:  # torch.full
        return "bool" if type(fill[0]) is bool else "int64"
    return DTYPES[f.seen.read(("default dtype",), torch.get_default_dtype)]


class PaddedPart(OfSample):
    """What torch.nn.functional.pad makes of a sample's tensor."""

    called = "a padded tensor of a sample"

    def __init__(self, form: Extended, scope: Scope) -> None:
        self.form, self.scope = form, scope

    def moved(self, after: Scope) -> "PaddedPart":
        return PaddedPart(self.form, after)


def _extended(f: Any, args: list[Any], named: dict[str, Any]) -> PaddedPart:
    given = dict(zip(("input", "pad", *_OF_PAD), args, strict=False))
    if len(args) > 2 + len(_OF_PAD) or set(given) & set(named):
        raise Stop("calls pad with arguments that do not fit")
    given |= named
    part, pads = given.pop("input", None), given.pop("pad", None)
    if not isinstance(part, Part) or not f.is_tensor_of_sample(part) or part.field not in f.ranks:
        raise Stop(f"calls pad with {name(part)}")
    if type(pads) not in (list, tuple) or not pads:
        raise Stop(f"calls pad with {name(pads)}")
    for key, value in given.items():
        if type(value) not in _OF_PAD.get(key, ()):
            raise Stop(f"calls pad with {key}={name(value)}")
    extents = tuple(extent_of(f, one, part.scope) for one in pads)
    return PaddedPart(Extended(part.field, extents, tuple(given.items())), part.scope)


def _sequences(f: Any, args: list[Any], named: dict[str, Any]) -> Joined:
    """torch.nn.utils.rnn.pad_sequence"""
    given = dict(zip(("sequences", *_OF_SEQUENCES), args, strict=False))
    if len(args) > 1 + len(_OF_SEQUENCES) or set(given) & set(named):
        raise Stop("calls pad_sequence with arguments that do not fit")
    given |= named
    each = given.pop("sequences", None)
    for key, value in given.items():
        if key not in _OF_SEQUENCES or not is_constant(value) or type(value) is type(None):
            raise Stop(f"calls pad_sequence with {key}={name(value)}")
    if not isinstance(each, Each) or each.kind not in (list, tuple):
        raise Stop(f"calls pad_sequence with {name(each)}")
    of, _ = each.once(f)
    if not f.is_tensor_of_sample(of):
        raise Stop("calls pad_sequence with other than a tensor of each sample")
    return Joined(Sequences(of.structure, tuple(given.items())))


def lengths(of: Any, scope: Scope, dtype: str) -> Joined | None:
    """torch.tensor of a number of each sample; None: it is none that is counted."""
    if type(of) is not Number or of.scope is not scope:
        return None
    return Joined(Lengths(of.of, dtype))
