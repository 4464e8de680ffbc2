"""Functions of libraries whose work is known while an entry of a data set is followed.

Each is known as the very function, as its module has it, and only if the module's own author wrote it.
What the libraries' pictures are is looked at again before each iter(): native/intact.py.
"""

import builtins
import functools
import io
import os
import pathlib
import posixpath
import sys
from collections.abc import Callable
from typing import Any

from ...native.genuine import is_genuine
from ..views.values import Stop
from .columns import each
from .pictures import Opened, OpenFile
from .pixels import Pixels, function_rule
from .readers import READERS, is_reader, opened_file, read

Rule = Callable[[Any, list[Any], dict[str, Any]], Any]

_OF_PATHS = ("basename", "dirname", "join", "normpath", "split", "splitext")
_OF_PYTHON: tuple[Callable[..., Any], ...] = (str, int, pathlib.Path, os.fspath)
_LOADERS = ("default_loader", "pil_loader")


def rule_of(thing: Any) -> Rule | None:
    """What a call of `thing` does; None: nothing is known of it."""
    for known in _OF_PYTHON:
        if thing is known:
            function: Callable[..., Any] = _path if known is pathlib.Path else known
            return _pure(function)
    if thing is io.open and builtins.open is io.open:
        return _open
    name = getattr(thing, "__name__", "") if type(thing) is _FUNCTION else ""
    if name in _OF_PATHS and vars(posixpath).get(name) is thing and _is_pythons(thing):
        return _pure(vars(posixpath)[name])
    if name == "open" and thing is vars(sys.modules.get("PIL.Image", io)).get("open"):
        return _open_picture
    if name == "fromarray" and thing is vars(sys.modules.get("PIL.Image", io)).get("fromarray"):
        return _from_array
    if name in _LOADERS and _is_of_torchvision(thing, name):
        return _load
    if name in READERS and is_reader(thing, name):
        return functools.partial(read, thing)
    return function_rule(thing)


_FUNCTION = type(rule_of)


def _is_pythons(thing: Any) -> bool:
    frozen = thing.__code__.co_filename == "<frozen posixpath>"
    return frozen and not hasattr(thing, "__wrapped__") or is_genuine(thing, "posixpath")


def _path(*parts: Any) -> pathlib.Path:
    return pathlib.Path(*parts)


def _is_of_torchvision(thing: Any, name: str) -> bool:
    folder = sys.modules.get("torchvision.datasets.folder")
    if folder is None or vars(folder).get(name) is not thing:
        return False
    return name == "pil_loader" or sys.modules["torchvision"].get_image_backend() == "PIL"


def _pure(function: Callable[..., Any]) -> Rule:
    def rule(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
        if named:
            raise Stop(f"calls {function.__name__} with {next(iter(named))}=")
        return each(f, function, args)

    return rule


def _open(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) + len(named) != 2 or [*args[1:], named.get("mode")][0] != "rb":
        raise Stop('opens a file otherwise than with "rb"')
    return opened_file(f, args[:1])


def _open_picture(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) != 1 or named:
        raise Stop("calls Image.open with more than a path")
    if type(args[0]) is OpenFile:
        if args[0].is_closed:
            raise Stop("opens a picture in a file that is closed")
        return Opened(args[0])
    return Opened(opened_file(f, args))


def _from_array(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) != 1 or named or type(args[0]) is not Pixels:
        raise Stop("calls Image.fromarray with other than a picture")
    return f.as_pil(args[0])


def _load(f: Any, args: list[Any], named: dict[str, Any]) -> Any:
    if len(args) != 1 or named:
        raise Stop("calls a loader with more than a path")
    return Opened(opened_file(f, args)).read(f, "RGB")
