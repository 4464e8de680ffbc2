"""Remote sensing: tiles of thirteen bands, indices of two bands, several labels a tile, chips by quarter turns."""

import csv
import glob
import random

import numpy as np
import torch
import torch.nn.functional as F
from recording import Recorder, parser, seed_all
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

BAND_STATS = {
    "mean": np.linspace(2000, 5000, 13, dtype=np.float32),
    "std": np.linspace(900, 1800, 13, dtype=np.float32),
}
LABELS = tuple("urban forest water arable pasture wetland".split())


class Tiles(Dataset):
    def __init__(self, root, bands=None, transforms=()):
        self.files = sorted(glob.glob(f"{root}/tiles/*.npy"))
        self.bands = list(bands if bands is not None else range(13))
        self.transforms = list(transforms)
        self.labels = self.read_labels(root)

    @staticmethod
    def read_labels(root):
        with open(f"{root}/hours.csv", newline="") as file:
            return [
                float(row["price"])
                for _, row in zip(range(1000), csv.DictReader(file), strict=False)
            ]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        bands = np.load(self.files[index]).astype(np.float32)
        image = (bands - BAND_STATS["mean"][:, None, None]) / BAND_STATS["std"][:, None, None]
        red, near = bands[3], bands[7]
        vegetation = (near - red) / (near + red + 1e-6)
        sample = {"image": torch.from_numpy(np.concatenate([image[self.bands], vegetation[None]]))}
        multi = torch.zeros(len(LABELS))
        multi[int(self.labels[index]) % len(LABELS)] = 1
        multi[index % len(LABELS)] = 1
        sample["label"] = multi
        for transform in self.transforms:
            sample = transform(sample)
        return sample


def upsample(sample):
    image = sample["image"].unsqueeze(0)
    sample["image"] = F.interpolate(image, size=(224, 224), mode="bilinear", align_corners=False)[0]
    return sample


def quarter_turns(sample):
    sample["image"] = torch.rot90(sample["image"], random.randrange(4), (1, 2))
    return sample


def channel_dropout(sample):
    if random.random() < 0.2:
        sample["image"][random.randrange(sample["image"].shape[0])] = 0
    return sample


if __name__ == "__main__":
    args = parser(__doc__).parse_args()
    seed_all(42)
    tiles = Tiles(args.data, transforms=[upsample, quarter_turns, channel_dropout])
    half = len(tiles) // 2
    both = ConcatDataset([Subset(tiles, range(0, half)), Subset(tiles, range(half, len(tiles)))])
    loader = DataLoader(both, args.batch_size, shuffle=True, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["image"].shape[1] == 14
    recorder.finish()
