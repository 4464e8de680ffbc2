"""What is done to a picture that OpenCV opened, an array of uint8: calls of cv2 and of NumPy."""

import sys
from dataclasses import replace
from types import BuiltinFunctionType
from typing import Any

from ...native import opencv
from ...native.plan import NotNative
from ...records import dataclass
from .follower import Follower
from .values import Array, File, Held, Stop, is_constant, is_sequence, name

_CHANNELS_BACK = (":, :, ::-1", "(:, :, ::-1)", "..., ::-1", "(..., ::-1)")


@dataclass(frozen=True)
class Copying:
    """The array's method `copy`."""

    array: Array


def takes_pictures(thing: Any) -> bool:
    return bool(opencv.function_of(thing)) or _is_contiguous(thing)


def call(f: Follower, thing: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """thing(*args, **named), of which takes_pictures says that it is known. Raises Stop."""
    function = opencv.function_of(thing)
    called = f"cv2.{function}" if function else "numpy.ascontiguousarray"
    if not args:
        raise Stop(f"calls {called} without a picture at the first place")
    picture, rest = args[0], [_plain(f, called, one) for one in args[1:]]
    others = {key: _plain(f, called, one) for key, one in named.items()}
    if setting := f.seen.read(("cv2 settings",), opencv.settings):
        raise Stop(f"calls {called}, where {setting}")
    try:
        if function == "imread" and type(picture) is File:
            return _read(rest, others)
        if type(picture) is not Array:
            raise Stop(f"calls {called} of {name(picture)}")
        if not function:
            if rest or others:
                raise Stop(f"calls {called} with more than a picture")
            return replace(picture, turned=False)
        made = opencv.call_of(function, rest, others, picture.channels)
    except NotNative as refused:
        raise Stop(f"calls {called}: {refused}") from None
    return Array(picture.source, (*picture.calls, made), made.channels)


def copy(callee: Copying, args: list[Any], named: dict[str, Any]) -> Array:
    """array.copy(), which is contiguous."""
    if args or named:
        raise Stop("calls copy with arguments")
    # Without an argument NumPy makes the order of C.
    return replace(callee.array, turned=False)


def take(array: Array, key: str) -> Array:
    """array[key], of which the text is known."""
    if key not in _CHANNELS_BACK or array.channels != 3:
        raise Stop(f"takes [{key}] of the picture")
    turned = opencv.reversed_channels(array.channels)
    return Array(array.source, (*array.calls, turned), array.channels, not array.turned)


def _read(args: list[Any], named: dict[str, Any]) -> Array:
    if len(args) > 1 or set(named) - {"flags"} or (args and named):
        raise Stop("calls cv2.imread with arguments that do not fit")
    flags = args[0] if args else named.get("flags", sys.modules["cv2"].IMREAD_COLOR)
    node, channels = opencv.read(flags)
    return Array(node, (), channels)


def _plain(f: Follower, called: str, value: Any) -> Any:
    """A fixed argument: a number, or a tuple or list of numbers."""
    if is_constant(value):
        return value
    if is_sequence(value):
        return type(f.items(value))(_plain(f, called, one) for one in f.items(value))
    if type(value) is Held:
        raise Stop(f"calls {called} with {name(value)}, which is not followed")
    raise Stop(f"calls {called} with {name(value)}")


def _is_contiguous(thing: Any) -> bool:
    numpy = sys.modules.get("numpy")
    own = getattr(numpy, "ascontiguousarray", None)
    return (
        thing is own
        and type(thing) is BuiltinFunctionType
        and thing.__name__ == "ascontiguousarray"
    )
