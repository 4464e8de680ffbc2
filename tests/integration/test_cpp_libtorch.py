"""examples/cpp_libtorch, built against an installed client and the pip wheel of torch."""

import os
import re
import subprocess
import sys
from pathlib import Path

import headrace
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HEADRACE_BUILD_DIR", ROOT / "build" / "release"))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def shades(root):
    """Two classes that a small net tells apart: reddish and bluish noise."""
    for i in range(96):
        noise = np.random.default_rng(i).integers(0, 90, (48, 40, 3), np.uint8)
        noise[:, :, 2 * (i % 2)] += 120
        path = root / ("red", "blue")[i % 2] / f"{i:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noise).save(path, quality=90)
    return root


def first_batch(loader_of, root):
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(32),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )
    loader = loader_of(
        ImageFolder(root, transform), batch_size=16, shuffle=True, num_workers=2,
        generator=torch.Generator().manual_seed(1),
    )  # fmt: skip
    return next(iter(loader))[0].numpy().tobytes()


def run(*command, **environment):
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.full  # compiling torch's headers takes a minute or two
def test_the_example_trains_on_the_batches_of_python(tmp_path):
    prefix = tmp_path / "prefix"
    run("cmake", "--install", BUILD, "--component", "devel", "--prefix", prefix)
    run(
        "cmake", "-S", ROOT / "examples/cpp_libtorch", "-B", tmp_path / "build", "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_PREFIX_PATH={prefix};{torch.utils.cmake_prefix_path}",
    )  # fmt: skip
    run("cmake", "--build", tmp_path / "build")
    pictures = shades(tmp_path / "pictures")
    said = run(
        tmp_path / "build/cpp_libtorch", pictures, 3, tmp_path / "first",
        HEADRACE_BINARY=str(prefix / "bin/headrace"),
    )  # fmt: skip
    print(said, file=sys.stderr)
    assert "96 pictures of 2 classes" in said
    losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", said)]
    assert len(losses) == 3
    assert losses[0] > losses[1] > losses[2]
    bits = (tmp_path / "first").read_bytes()
    assert bits == first_batch(DataLoader, pictures)
    assert bits == first_batch(headrace.DataLoader, pictures)
