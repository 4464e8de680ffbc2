"""Small data sets."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def write_jpegs(root: Path, classes: int, count: int, seed: int = 0) -> Path:
    """A class-per-folder set of small JPEGs of many sizes, both layouts of chroma, some grey."""
    rng = np.random.default_rng(seed)
    for c in range(classes):
        folder = root / f"class{c}"
        folder.mkdir(parents=True)
        for i in range(count):
            height, width = (int(v) for v in rng.integers(40, 90, 2))
            image = _smooth(height, width, rng)
            if i % 7 == 6:
                image = image.convert("L")
            image.save(folder / f"{i:03}.jpg", quality=90, subsampling=i % 3)
    return root


def write_mnist(root: Path) -> Path:
    """Files as torchvision's MNIST reads them: 30 to train with, 10 to test with."""
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(2)
    for name, count in (("train", 30), ("t10k", 10)):
        images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = rng.integers(0, 10, count, dtype=np.uint8)
        head = np.array([0x803, count, 28, 28], ">i4").tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = np.array([0x801, count], ">i4").tobytes()
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())
    return root


def encode_photo(height: int, width: int, seed: int, gray: bool = False, **options: Any) -> bytes:
    """One JPEG file. `options`: of PIL's save."""
    image = _smooth(height, width, np.random.default_rng(seed))
    with io.BytesIO() as file:
        options = {"quality": 90, "subsampling": seed % 3, **options}
        (image.convert("L") if gray else image).save(file, "JPEG", **options)
        return file.getvalue()


def without_tables(file: bytes) -> bytes:
    """A JPEG file that PIL opens but cannot decode: whole, but for its quantisation tables."""
    kept, at = [file[:2]], 2
    while file[at + 1] != 0xDA:  # up to the scan
        size = 2 + int.from_bytes(file[at + 2 : at + 4], "big")
        if file[at + 1] != 0xDB:
            kept.append(file[at : at + size])
        at += size
    return b"".join([*kept, file[at:]])


def _smooth(height: int, width: int, rng: np.random.Generator) -> Image.Image:
    coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
