"""h5py."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from support.leaf_doors.door import Door, smooth


def _write_hdf5(folder: Path, rng: Any) -> None:
    import h5py

    with h5py.File(folder / "a.h5", "w") as file:
        volume = smooth(rng, (12, 30, 40))
        file.create_dataset(
            "volume", data=volume.astype("f4"), chunks=(4, 10, 10), compression="gzip", shuffle=True
        )
        file.create_dataset(
            "label", data=volume % 5 > 2, chunks=(4, 10, 10), compression="lzf", fletcher32=True
        )
        file.create_dataset(
            "rows", data=volume.astype("i2"), chunks=(1, 30, 40), compression="gzip"
        )
        file.create_dataset("big", data=volume.astype(">i4"), compression="gzip")
        kind = h5py.enum_dtype({"no": 0, "yes": 1}, basetype="i1")
        file.create_dataset("kinds", data=(volume % 2).astype("i1"), dtype=kind, compression="gzip")
        file.create_dataset("plain", data=volume)
        file.create_dataset(
            "text",
            data=np.array([b"a", b"bc"], object),
            dtype=h5py.string_dtype(),
            compression="gzip",
        )
        file.create_dataset(
            "table", data=np.zeros(3, [("x", "i4"), ("y", "f8")]), compression="gzip", chunks=(2,)
        )
        file["link"] = h5py.ExternalLink("linked.h5", "volume")
    for name in ("other.h5", "linked.h5"):
        with h5py.File(folder / name, "w") as file:
            file.create_dataset("volume", data=smooth(rng, (5, 6)), compression="gzip")


def _h5(folder: Path, name: str, *what: Any, **how: Any) -> Any:
    import h5py

    path = folder / ("other.h5" if how.get("mode") == "r+" else "a.h5")
    with h5py.File(path, **{"mode": "r", **how}) as file:
        return file[name][what if len(what) != 1 else what[0]]


def _h5_of_type(folder: Path, *what: Any) -> Any:
    import h5py

    with h5py.File(folder / "a.h5", "r") as file:
        return file["volume"].astype("f8")[what]


def _h5_closed(folder: Path) -> Any:
    import h5py

    with h5py.File(folder / "a.h5", "r") as file:
        data = file["volume"]
        data[:]
    return data[:]


def _h5_in_memory(folder: Path) -> Any:
    import h5py

    with h5py.File(io.BytesIO((folder / "a.h5").read_bytes()), "r") as file:
        return file["volume"][:]


HDF5 = [
    Door(
        "h5py.Dataset", "h5py", _write_hdf5,
        {
            "all": lambda folder: _h5(folder, "volume", slice(None)),
            "empty tuple": lambda folder: _h5(folder, "volume"),
            "part": lambda folder: _h5(folder, "volume", slice(0, 8), slice(3, 29), slice(1, 40, 3)),
            "number and part": lambda folder: _h5(folder, "volume", -1, slice(3, -2)),
            "part and number": lambda folder: _h5(folder, "label", Ellipsis, np.int64(3)),
            "row": lambda folder: _h5(folder, "rows", np.int64(2)),
            "line": lambda folder: _h5(folder, "rows", 2, 3),
            "label": lambda folder: _h5(folder, "label", Ellipsis),
            "another type": lambda folder: _h5_of_type(folder, 3),
            "link": lambda folder: _h5(folder, "link", slice(None)),
            "closed": _h5_closed,
        },
        {
            "one number": lambda folder: _h5(folder, "rows", 1, 2, 3),
            "list": lambda folder: _h5(folder, "volume", [1, 3]),
            "mask": lambda folder: _h5(folder, "volume", np.ones((12, 30, 40), bool)),
            "nothing": lambda folder: _h5(folder, "volume", slice(3, 3)),
            "backwards": lambda folder: _h5(folder, "volume", slice(None, None, -1)),
            "beyond": lambda folder: _h5(folder, "volume", 12),
            "too many": lambda folder: _h5(folder, "volume", 1, 2, 3, 4),
            "new axis": lambda folder: _h5(folder, "volume", None),
            "two gaps": lambda folder: _h5(folder, "volume", Ellipsis, Ellipsis),
            "truth": lambda folder: _h5(folder, "volume", True),
            "big": lambda folder: _h5(folder, "big", slice(None)),
            "kinds": lambda folder: _h5(folder, "kinds", slice(None)),
            "plain": lambda folder: _h5(folder, "plain", slice(None)),
            "text": lambda folder: _h5(folder, "text", slice(None)),
            "table": lambda folder: _h5(folder, "table", slice(None)),
            "field": lambda folder: _h5(folder, "table", "x"),
            "memory": _h5_in_memory,
            "core": lambda folder: _h5(folder, "volume", slice(None), driver="core"),
            "writable": lambda folder: _h5(folder, "volume", slice(None), mode="r+"),
            "none": lambda folder: _h5(folder, "no such", slice(None)),
        },
        ("h5py:Dataset", "__getitem__"),
        opens=True,
    )
]  # fmt: skip
