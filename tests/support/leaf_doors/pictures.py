"""OpenCV, and TIFF files."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from support.leaf_doors.door import Door, smooth


def _write_opencv(folder: Path, rng: Any) -> None:
    import cv2

    cv2.imwrite(str(folder / "a.png"), rng.integers(0, 255, (40, 30, 3)).astype(np.uint8))
    cv2.imwrite(str(folder / "deep.png"), rng.integers(0, 65535, (40, 30)).astype(np.uint16))
    (folder / "bad.png").write_text("no picture")


def _imread(folder: Path, name: str, *flags: int) -> Any:
    import cv2

    return cv2.imread(str(folder / name), *flags)


def _imdecode(folder: Path, name: str) -> Any:
    import cv2

    return cv2.imdecode(np.frombuffer((folder / name).read_bytes(), np.uint8), -1)


OPENCV = [
    Door(
        "cv2.imread", "cv2", _write_opencv,
        {"colour": lambda folder: _imread(folder, "a.png"), "deep": lambda folder: _imread(folder, "deep.png", -1)},
        {"bad": lambda folder: _imread(folder, "bad.png"), "none": lambda folder: _imread(folder, "none.png")},
        ("cv2", "imread"),
    ),
    Door(
        "cv2.imdecode", "cv2", _write_opencv,
        {"colour": lambda folder: _imdecode(folder, "a.png"), "deep": lambda folder: _imdecode(folder, "deep.png")},
        {"bad": lambda folder: _imdecode(folder, "bad.png")},
        ("cv2", "imdecode"),
    ),
]  # fmt: skip


def _write_tiff(folder: Path, rng: Any) -> None:
    import tifffile

    stack = smooth(rng, (4, 64, 48)).astype(np.uint16)
    tifffile.imwrite(
        folder / "stack.tif", stack, compression="zlib", predictor=True, photometric="minisblack"
    )
    tifffile.imwrite(
        folder / "one.tif", stack[0], compression="zlib", tile=(16, 16), predictor=True
    )
    tifffile.imwrite(folder / "big.tif", stack[0], compression="zlib", byteorder=">")
    tifffile.imwrite(folder / "plain.tif", stack[0])
    tifffile.imwrite(
        folder / "a.ome.tif", stack, compression="zlib", ome=True, photometric="minisblack"
    )
    cut = (folder / "one.tif").read_bytes()
    (folder / "bad.tif").write_bytes(cut[: len(cut) // 2])
    (folder / "tag.tif").write_bytes(_with_a_bad_tag(cut))


def _with_a_bad_tag(file: bytes) -> bytes:
    """The library says so in its log, and reads the pixels."""
    software = struct.pack("<HH", 305, 2)
    assert file.count(software) == 1
    return file.replace(software, struct.pack("<HH", 305, 99))


def _tiff(folder: Path, name: str, **how: Any) -> Any:
    import tifffile

    return tifffile.imread(str(folder / name), **how)


def _tiff_file(folder: Path, name: str, *key: int, **how: Any) -> Any:
    import tifffile

    with tifffile.TiffFile(folder / name) as file:
        return file.asarray(*key, **how)


def _tiff_changed(folder: Path) -> Any:
    """The program knows better than the file."""
    import tifffile

    with tifffile.TiffFile(folder / "one.tif") as file:
        file.pages[0].predictor = 1
        return file.asarray()


TIFF = [
    Door(
        "tifffile.imread", "tifffile", _write_tiff,
        {
            "stack": lambda folder: _tiff(folder, "stack.tif"),
            "page": lambda folder: _tiff(folder, "stack.tif", key=2),
            "tiles": lambda folder: _tiff(folder, "one.tif", maxworkers=2),
            "big": lambda folder: _tiff(folder, "big.tif"),
        },
        {
            "bad": lambda folder: _tiff(folder, "bad.tif"),
            "tag": lambda folder: _tiff(folder, "tag.tif"),
            "several": lambda folder: _tiff(folder, "*e.tif"),
            "ome": lambda folder: _tiff(folder, "a.ome.tif"),
            "map": lambda folder: _tiff(folder, "plain.tif", out="memmap"),
            "none": lambda folder: _tiff(folder, "none.tif"),
            "beyond": lambda folder: _tiff(folder, "one.tif", key=7),
            "wrong": lambda folder: _tiff(folder, "one.tif", wrong=7),
        },
        ("tifffile.tifffile", "imread"),
    ),
    Door(
        "tifffile.TiffFile", "tifffile", _write_tiff,
        {
            "one": lambda folder: _tiff_file(folder, "one.tif"),
            "first page": lambda folder: _tiff_file(folder, "a.ome.tif", 0),
            "changed": _tiff_changed,
        },
        {
            "stack": lambda folder: _tiff_file(folder, "stack.tif"),
            "page": lambda folder: _tiff_file(folder, "stack.tif", 2),
            "plain": lambda folder: _tiff_file(folder, "plain.tif"),
            "bad": lambda folder: _tiff_file(folder, "bad.tif"),
            "beyond": lambda folder: _tiff_file(folder, "one.tif", 7),
        },
        ("tifffile:TiffFile", "asarray"),
        opens=True,
    ),
]  # fmt: skip
