"""Python's and torch's functions of what there is for each sample."""

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from torch.utils.data._utils import collate

from ...native.batch_form import Numbers, Stacked
from ...native.plan import DTYPES
from ...native.structure import Structure
from ..views.calls import builtin
from ..views.expressions import truth
from ..views.stacked import is_stack, stacked_of
from ..views.values import Held, Lazy, Stop, builtin_name, name
from . import numbers, tensors
from .filled import Made
from .values import ITERATOR, Each, Joined, Part, Scope, moved

Rule = Callable[[Any, list[Any], dict[str, Any]], Any]

_TENSORS_OF_NUMBERS = ("tensor", "as_tensor")
_OF_BUILTINS = (
    "enumerate", "filter", "float", "int", "len", "list", "map", "max", "range", "tuple", "zip",
)  # fmt: skip
_default_collate = collate.default_collate


def rule_of(thing: Any) -> Rule | None:
    """What a call of `thing` does; None: nothing is known of it."""
    if (of := builtin_name(thing)) in _OF_BUILTINS:
        return functools.partial(_BUILTINS[of], of)
    if is_stack(thing):
        return _stack
    if type(thing) is BuiltinFunctionType and any(
        thing == getattr(torch._C._VariableFunctions, one, None) for one in _TENSORS_OF_NUMBERS
    ):
        return _tensor
    if thing is torch.LongTensor:
        return _long_tensor
    if type(thing) is FunctionType and thing is _default_collate:
        return _default
    if type(thing) is BuiltinFunctionType and (rounding := numbers.ROUNDING.get(thing)):
        return functools.partial(_rounded, rounding)
    return tensors.rule_of(thing)


def unzipped(f: Any, callee: Any, each: Each, named: dict[str, Any]) -> Any:
    """zip(*each): an iterator of a tuple for each part of a sample. All have as many, so that `strict`
    says nothing."""
    if set(named) - {"strict"} or type(named.get("strict", False)) is not bool:
        raise Stop("calls zip with arguments that are not followed")
    if type(callee) is not Held or builtin_name(callee.thing) != "zip":
        raise Stop("calls with a starred argument")
    of, scope = each.once(f)
    if isinstance(of, Part):
        parts = list(of.entries(f))
    elif type(of) in (list, tuple):
        parts = list(of)
    else:
        raise Stop(f"unzips {name(of)}")
    return Lazy(iter([Each(tuple, part, scope) for part in parts]))


def _has_each(args: list[Any]) -> bool:
    return any(isinstance(one, Each) for one in args)


def _sequence(of: str, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if not args and of == "list" and not named:
        return f.new_list()
    if not _has_each(args):
        return builtin(f, of, args, named)
    if len(args) != 1 or named:
        raise Stop(f"calls {of} with arguments that do not fit")
    made, scope = args[0].once(f)
    return Each(list if of == "list" else tuple, made, scope)


def _zip(of: str, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if not _has_each(args):
        return builtin(f, of, args, named)
    args = [one.rows(f) if isinstance(one, Made) else one for one in args]
    if set(named) - {"strict"} or not all(isinstance(one, Each) for one in args):
        raise Stop("zips the samples with something else")
    scope = Scope()
    parts = [moved(made, before, scope) for made, before in [one.once(f) for one in args]]
    return Each(ITERATOR, tuple(parts), scope)


def _map(of: str, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if not _has_each(args[1:]):
        return builtin(f, of, args, named)
    if len(args) != 2 or named:
        raise Stop("maps the samples with something else")
    made, scope = args[1].once(f)
    return Each(ITERATOR, f.function(args[0], made), scope)


def _filter(of: str, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) != 2 or named or not isinstance(args[1], Each):
        raise Stop("calls filter, which is not followed")
    made, scope = args[1].once(f)
    kept = made if args[0] is None else f.function(args[0], made)
    f.keeps(truth(f, kept))
    return Each(ITERATOR, made, scope)


def _of_numbers(
    rule: Callable[..., Any], of: str, f: Any, args: list[Any], named: dict[str, Any]
) -> Any:
    """`rule`: of numbers.py, which answers None where all is known."""
    found = rule(f, args) if not named else None
    return builtin(f, of, args, named) if found is None else found


def _rounded(rule: str, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    found = numbers.rounded(rule, args, named)
    if found is None:
        raise Stop(f"calls {rule}, which is not followed")
    return found


_BUILTINS: dict[str, Callable[..., Any]] = {
    "enumerate": functools.partial(_of_numbers, numbers.enumerated),
    "filter": _filter,
    "float": _rounded,
    "int": _rounded,
    "len": functools.partial(_of_numbers, numbers.length),
    "list": _sequence,
    "map": _map,
    "max": functools.partial(_of_numbers, numbers.largest),
    "range": functools.partial(_of_numbers, numbers.positions),
    "tuple": _sequence,
    "zip": _zip,
}


# Tensors of all samples.


def _stack(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    of, _ = _of_each(f, stacked_of(args, named), "torch.stack")
    if isinstance(of, tensors.PaddedPart):
        return Joined(of.form)
    if not f.is_tensor_of_sample(of):
        raise Stop("calls torch.stack with other than a tensor of each sample")
    return Joined(Stacked(of.structure))


def _tensor(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) != 1 or set(named) - {"dtype"}:
        raise Stop("calls torch.tensor with arguments that are not followed")
    dtype = named.get("dtype")
    if isinstance(dtype, Held) and type(dtype.thing) is torch.dtype:
        known = DTYPES.get(dtype.thing)
    else:
        known = "" if dtype is None else None
    if known is None:
        raise Stop("calls torch.tensor with a type that is not followed")
    return _numbers(f, args[0], known)


def _long_tensor(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) != 1 or named:
        raise Stop("calls torch.LongTensor with arguments that are not followed")
    return _numbers(f, args[0], "int64")


def _numbers(f: Any, each: Any, dtype: str) -> Joined:
    of, scope = _of_each(f, each, "torch.tensor")
    if (counted := tensors.lengths(of, scope, dtype)) is not None:
        return counted
    if not f.is_number(of):
        raise Stop("makes a tensor of other than an integer of each sample")
    return Joined(Numbers(of.structure, dtype))


def _of_each(f: Any, each: Any, called: str) -> tuple[Any, Scope]:
    if not isinstance(each, Each) or each.kind is ITERATOR:
        raise Stop(f"calls {called} with {name(each)}, not with a list or tuple of the samples")
    return each.once(f)


def _default(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """default_collate, of samples as the data set returns them or of a part of each."""
    if len(args) != 1 or named:
        raise Stop("calls default_collate with arguments that are not followed")
    of, _ = _of_each(f, args[0], "default_collate")
    if not isinstance(of, Part):
        raise Stop("calls default_collate with what it made of the samples")
    return _collated(f, of.structure)


def _collated(f: Any, of: Structure) -> Any:
    if type(of) is int:
        if of in f.beside:
            raise Stop("calls default_collate of what is made beside the picture")
        return Joined(Stacked(of))
    if isinstance(of, dict):
        return {key: _collated(f, part) for key, part in of.items()}
    assert isinstance(of, list | tuple)
    return [_collated(f, part) for part in of]
