"""Texts and packed arrays of NumPy."""

from pathlib import Path
from typing import Any

import numpy as np

from support.leaf_doors.door import Door


def _write_numpy(folder: Path, rng: Any) -> None:
    numbers = rng.normal(size=(60, 6))
    np.savetxt(folder / "a.txt", numbers)
    np.savez_compressed(
        folder / "a.npz", a=numbers, turned=np.asfortranarray(numbers), whole=numbers.T
    )
    (folder / "bad.txt").write_text("1 2\n3 x\n")


def _npz(folder: Path, name: str) -> Any:
    with np.load(folder / "a.npz") as file:
        return file[name]


NUMPY = [
    Door(
        f"numpy.{name}", "numpy", _write_numpy,
        {
            "path": lambda folder, name=name: getattr(np, name)(folder / "a.txt"),
            "columns": lambda folder, name=name: getattr(np, name)(str(folder / "a.txt"), usecols=(0, 2)),
        },
        {
            "lines": lambda folder, name=name: getattr(np, name)(["1 2", "3 4"]),
            "none": lambda folder, name=name: getattr(np, name)(folder / "none.txt"),
        },
        ("numpy", name),
    )
    for name in ("loadtxt", "genfromtxt")
] + [
    Door(
        "numpy.npz", "numpy", _write_numpy,
        {name: lambda folder, name=name: _npz(folder, name) for name in ("a", "turned", "whole")},
        {"none": lambda folder: _npz(folder, "b")},
        ("numpy.lib.npyio:NpzFile", "__getitem__"),
    )
]  # fmt: skip
