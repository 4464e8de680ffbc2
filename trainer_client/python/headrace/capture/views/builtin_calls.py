"""Calls of Python's builtin functions."""

from collections.abc import Callable
from typing import Any

import torch

from . import sizes
from .containers import entries
from .follower import Follower
from .values import (
    Held,
    Image,
    Lazy,
    Special,
    Stop,
    builtin_name,
    is_constant,
    is_dict,
    is_sequence,
    name,
)


def _range(f: Follower, args: list[Any]) -> Any:
    if not 1 <= len(args) <= 3 or any(type(one) not in (int, bool) for one in args):
        raise Stop("calls range with other than integers")
    if len(args) == 3 and not args[2]:
        raise Stop("calls range with a step of 0")
    return range(*args)


def _len(f: Follower, args: list[Any]) -> Any:
    if len(args) == 1:
        (one,) = args
        if type(one) in (list, tuple, dict, range, str):
            return len(one)
        if type(one) is Held and (count := f.own_length(one.thing)) is not None:
            return count
        if is_sequence(one):
            return len(f.items(one))
        if is_dict(one):
            return len(f.mapping(one))
        if type(one) is Held and type(one.thing) in (torch.nn.ModuleList, torch.nn.Sequential):
            return len(list(entries(f, one)))
    raise Stop(f"calls len of {', '.join(map(name, args))}")


def _list(f: Follower, args: list[Any]) -> Any:
    return list(entries(f, args[0])) if _at_most_one("list", args) else []


def _tuple(f: Follower, args: list[Any]) -> Any:
    return tuple(entries(f, args[0])) if _at_most_one("tuple", args) else ()


def _at_most_one(called: str, args: list[Any]) -> bool:
    if len(args) > 1:
        raise Stop(f"calls {called} with {len(args)} arguments")
    return bool(args)


def _dict(f: Follower, args: list[Any]) -> Any:
    if args:
        raise Stop("calls dict with arguments")
    return {}


def _min(f: Follower, args: list[Any]) -> Any:
    return _of_numbers("min", min, args, sizes.shortest(args))


def _max(f: Follower, args: list[Any]) -> Any:
    return _of_numbers("max", max, args, sizes.at_least(args))


def _of_numbers(called: str, function: Callable[..., Any], args: list[Any], known: Any) -> Any:
    if known is not None:
        return known
    if len(args) > 1 and all(type(one) in (int, float) for one in args):
        return function(*args)
    raise Stop(f"calls {called} of {', '.join(map(name, args))}")


def _isinstance(f: Follower, args: list[Any]) -> Any:
    if len(args) == 2:
        value, asked = args
        named = f.items(asked) if is_sequence(asked) else [asked]
        classes = tuple(one.thing for one in named if type(one) is Held)
        if len(classes) == len(named) and all(map(_is_pythons_class, classes)):
            if isinstance(value, Special):
                return value.is_of(classes)
            if type(value) is Image:
                return object in classes
            thing = value.thing if type(value) is Held else value
            if type(thing) in (list, tuple, dict) or is_constant(thing):
                return issubclass(type(thing), classes)
    raise Stop(f"calls isinstance of {', '.join(map(name, args))}")


def _is_pythons_class(thing: Any) -> bool:
    return isinstance(thing, type) and bool(builtin_name(thing))


def _map(f: Follower, args: list[Any]) -> Any:
    if len(args) < 2:
        raise Stop("calls map without a container")
    function = args[0]
    each = [entries(f, one) for one in args[1:]]
    return Lazy(map(lambda *parts: f.call(f, function, list(parts), {}, "map"), *each))


def zipped(f: Follower, args: list[Any], strict: bool = False) -> Any:
    return Lazy(zip(*[entries(f, one) for one in args], strict=strict))


def _enumerate(f: Follower, args: list[Any]) -> Any:
    if not args or len(args) > 2 or any(type(one) is not int for one in args[1:]):
        raise Stop("calls enumerate with other than a container and a number")
    return Lazy(enumerate(entries(f, args[0]), *args[1:]))


BUILTINS: dict[str, Callable[[Follower, list[Any]], Any]] = {
    "range": _range,
    "len": _len,
    "list": _list,
    "tuple": _tuple,
    "dict": _dict,
    "map": _map,
    "zip": zipped,
    "enumerate": _enumerate,
    "isinstance": _isinstance,
    "max": _max,
    "min": _min,
}
