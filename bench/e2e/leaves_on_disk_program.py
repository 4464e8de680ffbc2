"""Epochs of pictures that the program's own code opens, crops and mixes. Each epoch prints its CPU seconds, those of
its processes that have ended included, and a hash of its batches."""

from __future__ import annotations

import json
import os
import pathlib
import random
import sys
import time
import zlib

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

SIDE = 224


class Pictures(Dataset):
    def __init__(self, folder: pathlib.Path) -> None:
        self.paths = sorted(folder.iterdir())

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> np.ndarray:
        with Image.open(self.paths[index]) as image:
            pixels = np.array(image)
        top = random.randrange(pixels.shape[0] - SIDE)
        left = random.randrange(pixels.shape[1] - SIDE)
        part = pixels[top : top + SIDE, left : left + SIDE].astype(np.float32)
        return part.reshape(SIDE, SIDE, -1) / 255


def cpu_seconds() -> float:
    return sum(os.times()[:4])


def main() -> None:
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Pictures(pathlib.Path(sys.argv[1])), 8, shuffle=True, num_workers=2)
    for _ in range(int(sys.argv[2])):
        began, cpu, seen = time.perf_counter(), cpu_seconds(), 0
        for batch in loader:
            seen = zlib.crc32(batch.numpy().tobytes(), seen)
        took = {"wall_s": time.perf_counter() - began, "cpu_s": cpu_seconds() - cpu, "crc": seen}
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main()
