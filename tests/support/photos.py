"""Small data sets."""

from pathlib import Path

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
            coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
            image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
            if i % 7 == 6:
                image = image.convert("L")
            image.save(folder / f"{i:03}.jpg", quality=90, subsampling=i % 3)
    return root
