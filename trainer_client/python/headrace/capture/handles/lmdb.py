"""lmdb.Environment that reads."""

import os
import sys
from typing import Any

from ...stage.handles import opened
from .files import Refused
from .maps import areas_with, seen_mapped

# What lmdb.open takes and an environment tells.
_FLAGS = ("subdir", "readahead", "meminit", "lock")


def classes() -> tuple[type, ...]:
    lmdb = sys.modules.get("lmdb")
    return () if lmdb is None else (lmdb.Environment, lmdb.Transaction, lmdb.Cursor)


def reduced(obj: Any) -> tuple[Any, ...]:
    """Raises Refused."""
    import lmdb

    if not isinstance(obj, lmdb.Environment):
        raise Refused(f"is an open {type(obj).__name__.lower()} of LMDB")
    try:
        flags: Any = obj.flags()
        info, path = obj.info(), obj.path()
    except lmdb.Error:
        raise Refused("is an environment of LMDB that is closed") from None
    if not flags.get("readonly"):
        raise Refused("is an environment of LMDB that may be written to")
    whole = os.path.realpath(os.fsdecode(path))
    data = os.path.join(whole, "data.mdb") if flags["subdir"] else whole
    area = next((a for a in areas_with(data) if a.path == data and a.rights == "r--s"), None)
    if area is None:
        raise Refused("is an environment of LMDB whose file is not there any more")
    settings = {name: flags[name] for name in _FLAGS}
    settings["map_size"] = info["map_size"]
    settings["max_readers"] = info["max_readers"]
    return opened.lmdb_environment, (seen_mapped(area), whole, settings)
