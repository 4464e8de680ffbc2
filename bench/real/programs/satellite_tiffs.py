"""Packed TIFF tiles of a satellite: bands chosen, stretched by percentiles, turned; a mask beside each tile."""

import random

import numpy as np
import tifffile
import torch
from made_here import made
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset

BANDS = (3, 2, 1, 7)


def make_tiles(folder, rng):
    for kind in ("images", "masks"):
        (folder / kind).mkdir()
    for number in range(160):
        bands = 3000 + np.cumsum(rng.integers(-40, 41, (256, 256, 10)), 1)
        tifffile.imwrite(
            folder / "images" / f"tile_{number:03}.tif",
            bands.astype(np.uint16),
            compression="zlib",
            predictor=True,
            photometric="minisblack",
            planarconfig="contig",
        )
        mask = np.kron(rng.integers(0, 7, (16, 16)), np.ones((16, 16))).astype(np.uint8)
        tifffile.imwrite(folder / "masks" / f"tile_{number:03}.tif", mask, compression="zlib")


def stretched(bands, low=2, high=98):
    least, most = np.percentile(bands, (low, high), axis=(0, 1))
    return np.clip((bands - least) / np.maximum(most - least, 1), 0, 1)


class Tiles(Dataset):
    def __init__(self, folder, crop=192, train=True):
        self.images = sorted((folder / "images").glob("*.tif"))
        self.crop, self.train = crop, train

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        path = self.images[index]
        image = tifffile.imread(path)[:, :, BANDS].astype(np.float32)
        mask = tifffile.imread(path.parent.parent / "masks" / path.name)
        if self.train:
            top, left = (random.randint(0, size - self.crop) for size in mask.shape)
            window = slice(top, top + self.crop), slice(left, left + self.crop)
            image, mask = image[window], mask[window]
        image = stretched(image)
        turns = random.randint(0, 3)
        image, mask = np.rot90(image, turns).copy(), np.rot90(mask, turns).copy()
        return torch.from_numpy(image).permute(2, 0, 1).float(), torch.from_numpy(mask).long()


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    folder = made(args.data, "satellite_tiffs", make_tiles)
    seed_all(2024)
    loader = DataLoader(
        Tiles(folder), batch_size=args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, masks in recorder.epoch(loader):
            assert images.shape[-2:] == masks.shape[-2:]
    recorder.finish()


if __name__ == "__main__":
    main()
