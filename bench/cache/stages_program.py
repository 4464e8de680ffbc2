"""A program whose data set is its own code; `stages.py` runs it.

Each line on standard input is JSON: how many epochs to run, and the seconds of a step. Each answer has the hash of
every epoch's batches. The end of the input ends the program.
"""

import argparse
import json
import pathlib
import sys
import time
import zlib

import headrace
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


def energies(grey: np.ndarray) -> np.ndarray:
    """The energy in bands of frequency: a function that Headrace may find."""
    bands = [np.abs(np.fft.fft2(np.roll(grey, shift, 1))) for shift in range(8)]
    return np.log1p(np.mean(bands, 0)).astype(np.float32)


def letterboxed(path: str) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("L").resize((256, 256)), np.float32)


@headrace.cached
def declared(path: str) -> np.ndarray:
    return energies(letterboxed(path))


class Files(Dataset):
    def __init__(self, folder: pathlib.Path, size: int) -> None:
        self.paths = sorted(str(path) for path in folder.rglob("*.*") if path.is_file())
        self.size = size

    def __len__(self) -> int:
        return len(self.paths)


class Photos(Files):
    def __getitem__(self, index: int) -> torch.Tensor:
        with Image.open(self.paths[index]) as picture:
            pixels = np.array(picture.convert("RGB"))
        top, left = (np.random.randint(0, side - self.size + 1) for side in pixels.shape[:2])
        part = pixels[top : top + self.size, left : left + self.size].astype(np.float32)
        return torch.from_numpy((part - part.mean()) / (part.std() + 1e-6))


class MorePhotos(Photos):  # of another program
    pass


class Texts(Files):
    def __getitem__(self, index: int) -> torch.Tensor:
        points = np.loadtxt(self.paths[index])
        return torch.from_numpy(points[np.random.randint(0, len(points), 64)])


class Found(Files):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(
            energies(letterboxed(self.paths[index])) + np.float32(np.random.rand())
        )


class Declared(Files):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.from_numpy(declared(self.paths[index]) + np.float32(np.random.rand()))


KINDS = {kind.__name__: kind for kind in (Photos, MorePhotos, Texts, Found, Declared)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--what", choices=KINDS, default="Photos")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--persistent", action="store_true", help="lanes live for all epochs")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(
        KINDS[args.what](args.data, args.size),
        args.batch,
        shuffle=True,
        num_workers=2,
        persistent_workers=args.persistent,
    )
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        hashes = []
        for _ in range(order["epochs"]):
            seen = 0
            for batch in loader:
                seen = zlib.crc32(batch.numpy().tobytes(), seen)
                time.sleep(order["step"])
            hashes.append(seen)
        print(json.dumps(hashes), flush=True)


if __name__ == "__main__":
    main()
