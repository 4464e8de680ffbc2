"""torchvision.io's functions that read pictures, while an entry of a data set is followed.

What they are is among the grounds: their code and defaults, the operators that they call, and the names by
which they call each other. So a change of one is seen as a change of the program's own code is.
"""

import functools
import sys
import types
from typing import Any

import torch

from ...native.genuine import is_genuine
from ..views.values import Held, Image, Stop, name
from .columns import Column
from .pictures import FileBytes, OpenFile

READERS = ("decode_image", "decode_jpeg", "read_file", "read_image")
_OPERATORS = ("decode_image", "decode_jpeg", "read_file")
_MODULE = "torchvision.io.image"
_MODES = ("RGB", "UNCHANGED")  # that have a native form


def is_reader(thing: Any, of: str) -> bool:
    """Whether it is torchvision's own function of that name, and calls torchvision's own."""
    space = _space()
    if space.get(of) is not thing or not all(map(_is_operator, _OPERATORS)):
        return False
    return all(is_genuine(space.get(one), "torchvision") for one in READERS)


def read(reader: types.FunctionType, f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    """reader(*args, **named)."""
    _note(f)
    of = reader.__name__
    code = reader.__code__
    names = code.co_varnames[: code.co_argcount]
    given = {**dict(zip(names, args, strict=False)), **named}
    if (
        len(args) > len(names)
        or len(given) < len(args) + len(named)
        or not given.keys() <= {*names}
    ):
        raise Stop(f"calls {of} with arguments that do not fit")
    if names[0] not in given:
        raise Stop(f"calls {of} without {names[0]}")
    source = given.pop(names[0])
    if of == "read_file":
        return FileBytes(opened_file(f, [source]))
    if given.pop("apply_exif_orientation", False) is not False:
        raise Stop(f"calls {of} with apply_exif_orientation=, which turns pictures")
    if given.pop("device", "cpu") != "cpu":
        raise Stop(f"calls {of} with a device")
    mode = _mode(given.pop("mode", "UNCHANGED"))
    assert not given
    if "read_file" in code.co_names and isinstance(source, Column):
        source = FileBytes(opened_file(f, [source]))
    elif of == "read_image" or type(source) is not FileBytes:
        raise Stop(f"calls {of} with {name(source)}")
    image: Image = source.decode(f, mode)
    return image


def opened_file(f: Any, args: list[Any]) -> OpenFile:
    if len(args) != 1 or not isinstance(args[0], Column):
        raise Stop("opens a file that is not told by the index")
    file: OpenFile = f.opens(args[0])
    return file


def mode_of_class(f: Any, thing: Any, of: str) -> Any:
    """ImageReadMode.RGB, where `thing` is that class: its metaclass runs no code of the program's."""
    modes = _space().get("ImageReadMode")
    if thing is not modes or modes is None or of not in modes.__members__:
        return None
    return Held(f.seen.read(("mode", of), lambda: modes.__members__[of]))


def _mode(given: Any) -> str:
    found = given.upper() if type(given) is str else _name_of(given)
    if found not in _MODES:
        raise Stop(f"reads a picture in mode {found or name(given)}", "mode RGB, or UNCHANGED")
    return found


def _name_of(mode: Any) -> str:
    """Of a member of ImageReadMode; empty: it is none."""
    if type(mode) is not Held:
        return ""
    members = getattr(_space().get("ImageReadMode"), "__members__", {})
    return next((of for of, member in members.items() if member is mode.thing), "")


def _space() -> dict[str, Any]:
    module = sys.modules.get(_MODULE)
    return vars(module) if module is not None else {}


def _is_operator(of: str) -> bool:
    """Whether torch has it, and it is torch's own: a torchvision without its image library has none."""
    return type(_operator(of)) is torch._ops.OpOverloadPacket


def _operator(of: str) -> Any:
    return getattr(torch.ops.image, of, None)


def _note(f: Any) -> None:
    for of in READERS:
        f.seen.read(("reader", of), functools.partial(_space().get, of))
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            f.seen.read(("reader", of, part), functools.partial(_part, of, part))
    for of in _OPERATORS:
        f.seen.read(("operator", of), functools.partial(_operator, of))


def _part(of: str, attribute: str) -> Any:
    return getattr(_space().get(of), attribute, None)
