"""Programs of the shapes that people train with: the same batches, made by workers, at 0 changed lines.

programs/ holds one file a program, with no word of Headrace.
"""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.both_ways import compare
from support.photos import write_jpegs, write_mnist

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_jpegs(root / "photos" / "train", classes=3, count=7)
    write_jpegs(root / "photos" / "val", classes=3, count=3, seed=1)
    write_mnist(root / "mnist")
    pairs = root / "pairs"
    write_jpegs(pairs, classes=1, count=14, seed=2)
    (pairs / "class0").rename(pairs / "images")
    (pairs / "masks").mkdir()
    for file in (pairs / "images").iterdir():
        mask = np.asarray(Image.open(file).convert("L")) // 64
        Image.fromarray(mask).save(pairs / "masks" / f"{file.stem}.png")
    return root


# Program -> its data, and how many samples were made on which path.
PROGRAMS_AND_PATHS = {
    "imagenet": ("photos", {"native": 60}),
    "mnist": ("mnist", {"native": 80}),
    "classification": ("photos", {"native": 60, "python": 21}),
    "hf_classification": ("photos", {"python": 69}),
    "lightning_tutorial": ("mnist", {"native": 76}),
    "segmentation": ("pairs", {"native": 56, "python": 28}),
    "detection": ("photos", {"python": 60}),
    "fine_tuning": ("photos/train", {"native": 26}),
    "with_opencv": ("photos/train", {"python": 40}),
    "with_torchvision_io": ("photos/train", {"python": 84}),
    "shared_pixels": ("photos/train", {"python": 21}),
    "with_albumentations": ("photos/train", {"python": 126}),
}
# Python programs -> pictures that were made natively all the same.
NATIVE_PICTURES = {"classification": 21, "hf_classification": 69, "with_torchvision_io": 84}


@pytest.mark.parametrize("name", PROGRAMS_AND_PATHS)
def test_same_batches_from_workers(name, data, tmp_path):
    folder, paths = PROGRAMS_AND_PATHS[name]
    arguments = [data / folder, "{out}"] if name == "hf_classification" else [data / folder]
    # Whole pictures that are made for a cache would be counted, too, and how many is chance.
    cache = ("--cache", "0") if name in NATIVE_PICTURES else ()
    compared = compare(PROGRAMS / f"{name}.py", arguments, tmp_path, *cache)
    assert compared.samples == sum(paths.values()), compared.told
    assert +compared.made == paths, compared.said
    if name in NATIVE_PICTURES:
        pictures = sum(loader["counts"]["native_images"] for loader in compared.loaders)
        assert pictures == NATIVE_PICTURES[name]
