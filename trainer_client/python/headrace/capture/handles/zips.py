"""zipfile.ZipFile that reads."""

import io
import zipfile
from typing import Any

from ...stage.handles import opened
from .files import Refused, path_of, seen_at

_OF_ONE_PROCESS = ("fp", "_lock")


def classes() -> tuple[type, ...]:
    return (zipfile.ZipFile,)


def reduced(obj: Any) -> tuple[Any, ...]:
    """Raises Refused."""
    if type(obj) is not zipfile.ZipFile:
        raise Refused(f"is an archive of class {type(obj).__qualname__}")
    state = dict(vars(obj))
    if state.get("mode") != "r":
        raise Refused("is an archive that may be written to")
    file = state.get("fp")
    if file is None:
        raise Refused("is an archive that is closed")
    if state.get("_filePassed") != 0:
        raise Refused("is an archive that was opened from a file object")
    if type(file) is not io.BufferedReader or type(file.raw) is not io.FileIO:
        raise Refused("is an archive that was opened from a file object")
    if state.get("_fileRefCnt") != 1:
        raise Refused("is an archive with an open member")
    for name in _OF_ONE_PROCESS:
        state.pop(name, None)
    return opened.zip_file, (seen_at(path_of(file.fileno())), state)
