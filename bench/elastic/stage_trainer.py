"""A program whose data set is its own code, with a step of a fixed time: `leaves_in_policies.py` runs it.

Prints `ready`, waits for a line, and goes on for `--seconds`.
"""

import argparse
import pathlib
import sys
import time

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Own(Dataset):
    def __init__(self, folder: pathlib.Path) -> None:
        self.paths = sorted(path for path in folder.rglob("*.*") if path.is_file())

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.paths[index].suffix == ".txt":
            points = np.loadtxt(self.paths[index])
            return torch.from_numpy(points[np.random.randint(0, len(points), 64)])
        with Image.open(self.paths[index]) as picture:
            pixels = np.array(picture.convert("RGB"))
        top, left = (np.random.randint(0, size - 95) for size in pixels.shape[:2])
        part = pixels[top : top + 96, left : left + 96].astype(np.float32)
        return torch.from_numpy((part - part.mean()) / (part.std() + 1e-6))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--step", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    loader = DataLoader(Own(args.data), batch_size=16, shuffle=True, num_workers=2)
    print("ready", flush=True)
    sys.stdin.readline()
    end = time.perf_counter() + args.seconds
    while time.perf_counter() < end:
        for _ in loader:
            time.sleep(args.step)
            if time.perf_counter() >= end:
                break


if __name__ == "__main__":
    main()
