"""nibabel."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support.leaf_doors.door import Door, smooth


def _write_volumes(folder: Path, rng: Any) -> None:
    import nibabel

    volume = smooth(rng, (20, 24, 9))
    nibabel.save(nibabel.Nifti1Image(volume.astype(np.int16), np.eye(4)), folder / "a.nii.gz")
    nibabel.save(nibabel.Nifti1Image(volume.astype(np.float32), np.eye(4)), folder / "plain.nii")
    scaled = nibabel.Nifti1Image(volume.astype(np.float32), np.eye(4))
    scaled.header.set_data_dtype(np.uint8)
    nibabel.save(scaled, folder / "scaled.nii.gz")
    with gzip.open(folder / "a.nii.gz") as file, gzip.open(folder / "bad.nii.gz", "w") as cut:
        cut.write(file.read(3000))


def _volume(folder: Path, name: str, read: Callable[[Any], Any], **how: Any) -> Any:
    import nibabel

    return read(nibabel.load(folder / name, **how))


def _volume_again(image: Any) -> Any:
    """The image keeps what it has given out."""
    first = image.get_fdata()
    first[0] = 7
    return image.get_fdata() is first, first


VOLUMES = [
    Door(
        "nibabel", "nibabel", _write_volumes,
        {
            "floats": lambda folder: _volume(folder, "a.nii.gz", lambda image: image.get_fdata()),
            "single": lambda folder: _volume(folder, "a.nii.gz", lambda image: image.get_fdata(dtype=np.float32)),
            "scaled": lambda folder: _volume(folder, "scaled.nii.gz", lambda image: image.get_fdata()),
            "as it is": lambda folder: _volume(folder, "a.nii.gz", lambda image: np.asarray(image.dataobj)),
            "again": lambda folder: _volume(folder, "a.nii.gz", _volume_again),
        },
        {
            "own class": lambda folder: _volume(folder, "plain.nii", lambda image: image.get_fdata()),
            "map": lambda folder: _volume(folder, "plain.nii", lambda image: np.asarray(image.dataobj).copy()),
            "slice": lambda folder: _volume(folder, "a.nii.gz", lambda image: image.dataobj[3]),
            "open": lambda folder: _volume(
                folder, "a.nii.gz", lambda image: image.get_fdata(), keep_file_open=True
            ),
            "bad": lambda folder: _volume(folder, "bad.nii.gz", lambda image: image.get_fdata()),
            "whole numbers": lambda folder: _volume(
                folder, "a.nii.gz", lambda image: image.get_fdata(dtype=np.int16)
            ),
            "none": lambda folder: _volume(folder, "none.nii.gz", lambda image: image.get_fdata()),
        },
        ("nibabel.arrayproxy:ArrayProxy", "__array__"),
    )
]  # fmt: skip
