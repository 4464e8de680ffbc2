"""A transform of torchvision's that the followed code makes itself: `T.ToTensor()(crop)`."""

from typing import Any

import torch

from ...native.genuine import is_genuine
from ...native.kinds import check_unaltered, kind_of_class
from ...native.plan import NotNative
from .follower import Follower
from .values import Held, Stop, is_constant, is_sequence, name

# What they do when they are made is to check their arguments and to keep them: they draw nothing,
# warn of nothing, and keep nothing elsewhere. v2's ToTensor warns.
_KNOWN = frozenset(
    f"{api}.{cls}"
    for api in ("v1", "v2")
    for cls in ("PILToTensor", "Normalize", "CenterCrop", "FiveCrop", "TenCrop")
) | {"v1.ToTensor", "v1.ConvertImageDtype", "v2.ToImage", "v2.ToDtype", "v2.ToPureTensor"}  # fmt: skip


def is_known(cls: type) -> bool:
    return kind_of_class(cls) in _KNOWN


def call(f: Follower, cls: Any, args: list[Any], named: dict[str, Any]) -> Held:
    """cls(*args, **named), of which is_known. The object is nobody else's. Raises Stop."""
    given = [_plain(f, cls, one) for one in args]
    by_name = {key: _plain(f, cls, one) for key, one in named.items()}
    if cls.__new__ is not object.__new__ or not is_genuine(cls.__init__, "torchvision"):
        raise Stop(f"makes a {cls.__name__}, whose __init__ was replaced")
    try:
        made = cls(*given, **by_name)
        check_unaltered(made)
    except NotNative:
        raise
    except Exception as error:
        raise Stop(f"makes a {cls.__name__}, which raises {type(error).__name__}") from None
    f.seen.hold(made)
    return Held(made)


def _plain(f: Follower, cls: type, value: Any) -> Any:
    """A fixed argument: a constant, an element type, or a tuple or list of constants."""
    if is_constant(value):
        return value
    if type(value) is Held and type(value.thing) is torch.dtype:
        return value.thing
    if is_sequence(value):
        parts = f.items(value)
        if all(map(is_constant, parts)):
            return type(parts)(parts)
    raise Stop(f"makes a {cls.__name__} with {name(value)}, which is not followed")
