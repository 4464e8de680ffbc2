"""The library functions whose results lanes keep, for the contract of all of them
(tests/python/contract/test_leaf_doors.py). The next one is one more Door here."""

from support.leaf_doors import hdf5, numbers, pictures, sounds, volumes
from support.leaf_doors.door import Door, begin, keep_all, replaced, seen, spoiled

DOORS: dict[str, Door] = {
    door.name: door
    for door in (
        *numbers.NUMPY,
        *pictures.OPENCV,
        *pictures.TIFF,
        *sounds.SOUND,
        *hdf5.HDF5,
        *volumes.VOLUMES,
    )
}

__all__ = ["DOORS", "Door", "begin", "keep_all", "replaced", "seen", "spoiled"]
