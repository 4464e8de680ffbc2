"""A table: pandas, categories as numbers, standardised numbers, noise that is swapped between rows."""

import numpy as np
import pandas as pd
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

CATEGORIES = ["city", "kind"]
NUMBERS = ["price", "load", "wind"]


class TabularDataset(Dataset):
    def __init__(self, frame, target, corruption=0.3):
        self.frame = frame.copy()
        for name in CATEGORIES:
            self.frame[name] = self.frame[name].astype("category").cat.codes.astype(np.int64)
        self.dims = {name: int(self.frame[name].max()) + 1 for name in CATEGORIES}
        numbers = self.frame[NUMBERS]
        self.frame[NUMBERS] = (numbers - numbers.mean()) / numbers.std()
        self.target = self.frame[target].values.astype(np.float32)
        self.corruption = corruption

    def __len__(self):
        return len(self.frame)

    def __getitem__(self, idx):
        row = self.frame.iloc[idx]
        numbers = row[NUMBERS].to_numpy(dtype=np.float32)
        other = self.frame.iloc[np.random.randint(len(self.frame))]
        mask = np.random.rand(len(NUMBERS)) < self.corruption
        corrupted = np.where(mask, other[NUMBERS].to_numpy(dtype=np.float32), numbers)
        codes = np.array([int(row[name]) for name in CATEGORIES], dtype=np.int64)
        return codes, numbers, corrupted, self.target[idx]


def main():
    args = parser(__doc__, batch_size=64).parse_args()
    seed_all(38)
    frame = pd.read_csv(f"{args.data}/hours.csv", parse_dates=["date"]).head(2000)
    dataset = TabularDataset(frame, "target")
    counts = np.bincount(dataset.target.astype(int))
    weights = torch.from_numpy(1.0 / counts[dataset.target.astype(int)])
    sampler = WeightedRandomSampler(
        weights, len(weights), generator=torch.Generator().manual_seed(1)
    )
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for codes, numbers, corrupted, target in recorder.epoch(loader):
            assert len(codes) == len(target) and numbers.shape == corrupted.shape
    recorder.finish()


if __name__ == "__main__":
    main()
