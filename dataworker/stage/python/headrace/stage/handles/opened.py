"""Handles that must not be shared by forks: two of them would move one position, or one lock.

A bundle that names this module is unpickled by each host for itself (zygote.py), so each has its own.
"""

import os
import threading
import zipfile
from typing import Any

from .files import Seen, open_same, same_path

# LMDB tells nobody for how many named databases there is room. More of it changes no sample.
_NAMED_DATABASES = 128


def zip_file(seen: Seen, state: dict[str, Any]) -> zipfile.ZipFile:
    """With the trainer's directory of the archive, so that it need not be read again. `state`: without
    what belongs to one process. Raises OtherFile."""
    made = zipfile.ZipFile.__new__(zipfile.ZipFile)
    vars(made).update(state)
    made.fp = os.fdopen(open_same(seen), "rb")
    made._lock = threading.RLock()  # type: ignore[attr-defined]
    return made


def hdf5_file(seen: Seen, settings: dict[str, Any]) -> Any:
    """`settings`: of h5py.File. Raises OtherFile."""
    import h5py

    return h5py.File(same_path(seen), "r", **settings)


def hdf5_member(file: Any, name: str, kind: str) -> Any:
    """A group or data set of an open file."""
    found = file[name]
    if type(found).__name__ != kind:
        raise TypeError(f"{name} is no {kind} here")
    return found


def lmdb_environment(seen: Seen, path: str, settings: dict[str, Any]) -> Any:
    """`seen`: its file of data. `path`: of the environment. Raises OtherFile."""
    import lmdb

    same_path(seen)
    return lmdb.open(path, create=False, readonly=True, max_dbs=_NAMED_DATABASES, **settings)


def arrow_map(seen: Seen, position: int) -> Any:
    """Raises OtherFile."""
    import pyarrow

    made = pyarrow.memory_map(same_path(seen), "r")
    made.seek(position)
    return made
