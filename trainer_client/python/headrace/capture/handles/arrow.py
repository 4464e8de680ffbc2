"""pyarrow.memory_map of a file that is read."""

import sys
from typing import Any

from ...stage.handles import opened
from .files import Refused, path_of, seen_at


def classes() -> tuple[type, ...]:
    pyarrow = sys.modules.get("pyarrow")
    return () if pyarrow is None else (pyarrow.NativeFile,)


def reduced(obj: Any) -> tuple[Any, ...]:
    """Raises Refused."""
    import pyarrow

    if type(obj) is not pyarrow.MemoryMappedFile:
        raise Refused(f"is an open file of Arrow (a {type(obj).__name__})")
    if obj.closed:
        raise Refused("is a memory map of Arrow that is closed")
    if obj.mode != "rb":
        raise Refused("is a memory map of Arrow that may write to its file")
    return opened.arrow_map, (seen_at(path_of(obj.fileno())), obj.tell())
