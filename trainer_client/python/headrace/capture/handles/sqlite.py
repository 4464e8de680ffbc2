"""SQLite's connections and cursors, which stay.

A connection tells neither which functions and collations the program has put in the place of SQLite's
own, nor which types it converts: rows could come out otherwise elsewhere.
"""

import sys
from typing import Any, NoReturn

from .files import Refused


def classes() -> tuple[type, ...]:
    sqlite3 = sys.modules.get("sqlite3")
    return () if sqlite3 is None else (sqlite3.Connection, sqlite3.Cursor)


def reduced(obj: Any) -> NoReturn:
    """Raises Refused."""
    what = "cursor" if hasattr(type(obj), "fetchone") else "connection"
    raise Refused(f"is a {what} of SQLite, which does not tell what the program has set on it")
