"""What is in a container, one by one: of the followed code's own and of what the program holds."""

from collections.abc import Iterator
from typing import Any

import torch

from ...native.kinds import check_unaltered
from .attributes import own
from .follower import Follower
from .values import (
    VIEWS_OF_DICTS,
    Held,
    Lazy,
    Special,
    Stop,
    is_constant,
    is_dict,
    is_sequence,
    name,
    wrap,
)

_MOST_ENTRIES = 1_000  # of one list, tuple or text that the code makes
_LISTS_OF_MODULES = (torch.nn.ModuleList, torch.nn.Sequential)


def entries(f: Follower, value: Any) -> Iterator[Any]:
    """As `for entry in value` meets them: a list that grows meanwhile is followed to its end."""
    return _counted(f, _iterator(f, value))


def extend(f: Follower, own: list[Any], more: Any) -> None:
    """own.extend(more)"""
    # A list may be extended by itself, but not by its entries one by one.
    own.extend(more if type(more) is list else entries(f, more))
    check_size(own)


def check_size(made: Any) -> Any:
    """Code that doubles what it makes ends here. Returns it."""
    if len(made) > _MOST_ENTRIES:
        raise Stop(f"makes over {_MOST_ENTRIES:,} entries")
    return made


def _iterator(f: Follower, value: Any) -> Iterator[Any]:
    if type(value) is Lazy:
        return value.entries
    if type(value) in (list, tuple, dict, range, *VIEWS_OF_DICTS):
        return iter(value)
    if isinstance(value, Special):
        return value.entries(f)
    if is_sequence(value):
        return iter(f.items(value))
    if is_dict(value):
        return iter(f.mapping(value))
    if type(value) is Held and type(value.thing) in _LISTS_OF_MODULES:
        return iter(modules(f, value))
    raise Stop(f"goes through {name(value)}")


def _counted(f: Follower, over: Iterator[Any]) -> Iterator[Any]:
    for entry in over:
        f.spend()
        yield entry


def modules(f: Follower, value: Held) -> list[Any]:
    """Of torch's own list of modules."""
    check_unaltered(value.thing)
    found = own(f, value.thing, "_modules")
    if not is_dict(Held(found)):
        raise Stop(f"goes through {name(value)}, which holds no modules")
    held = f.seen.entries(found)
    half = len(held) // 2
    if held[:half] != list(map(str, range(half))):  # by which ModuleList finds them
        raise Stop(f"goes through {name(value)}, whose modules are not numbered")
    return [wrap(part) for part in held[half:]]


def take(f: Follower, owner: Any, key: Any) -> Any:
    """owner[key]"""
    if isinstance(owner, Special):
        return owner.entry(f, key)
    if isinstance(key, Special) or _is_by_special(key):
        return f.entry_at(owner, key)
    try:
        if is_sequence(owner) and _is_index(key):
            return f.items(owner)[key]
        if is_dict(owner) and is_constant(key):
            return f.mapping(owner)[key]
        if type(owner) is Held and type(owner.thing) in _LISTS_OF_MODULES and type(key) is int:
            return modules(f, owner)[key]
    except (LookupError, ValueError) as error:
        raise Stop(f"raises {type(error).__name__}: {error}") from None
    raise Stop(f"takes an entry of {name(owner)}")


def _is_by_special(key: Any) -> bool:
    bounds = (key.start, key.stop, key.step) if type(key) is slice else ()
    return any(isinstance(one, Special) for one in bounds)


def _is_index(key: Any) -> bool:
    if type(key) is slice:
        return all(type(part) in (int, type(None)) for part in (key.start, key.stop, key.step))
    return type(key) in (int, bool)
