"""h5py.File that reads, with its groups and data sets."""

import sys
import weakref
from typing import Any

from ...stage.handles import opened
from .files import Refused, path_of, seen_at

_OF_CACHE = ("rdcc_nslots", "rdcc_nbytes", "rdcc_w0")
# One object for each open file: each group makes a new one when it is asked for its file.
_files: "weakref.WeakValueDictionary[Any, Any]" = weakref.WeakValueDictionary()


def classes() -> tuple[type, ...]:
    h5py = sys.modules.get("h5py")
    return () if h5py is None else (h5py.Group, h5py.Dataset)


def reduced(obj: Any) -> tuple[Any, ...]:
    """Raises Refused."""
    import h5py

    if type(obj) not in (h5py.File, h5py.Group, h5py.Dataset):
        raise Refused(f"is an object of HDF5 of class {type(obj).__qualname__}")
    if not obj:
        raise Refused("is an object of a file of HDF5 that is closed")
    if type(obj) is h5py.File:
        return opened.hdf5_file, _opening(h5py, obj)
    name = obj.name
    if name is None:
        raise Refused("is an object of HDF5 without a name")
    return opened.hdf5_member, (_file_of(obj), name, type(obj).__name__)


def _file_of(member: Any) -> Any:
    file = member.file
    known = _files.get(file.id.id)
    if known is None or not known or known.id != file.id:
        _files[file.id.id] = known = file
    return known


def _opening(h5py: Any, file: Any) -> tuple[Any, ...]:
    if file.id.get_intent() != 0:
        raise Refused("is a file of HDF5 that may be written to, or is being written")
    how = file.id.get_access_plist()
    if how.get_driver() != h5py.h5fd.SEC2:
        raise Refused(f"is a file of HDF5 that was opened by the driver {file.driver}")
    path = path_of(file.id.get_vfd_handle())
    settings: dict[str, Any] = dict(zip(_OF_CACHE, how.get_cache()[1:], strict=True))
    if hasattr(how, "get_file_locking"):
        uses, ignores = how.get_file_locking()
        settings["locking"] = ("best-effort" if ignores else True) if uses else False
    return seen_at(path), settings
