"""A language model's blocks of tokens out of a memory-mapped file, at places that are drawn."""

import os

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class Blocks(Dataset):
    def __init__(self, path, block_size, samples):
        self.data = np.memmap(path, dtype=np.uint16, mode="r")
        self.block_size = block_size
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        start = int(torch.randint(len(self.data) - self.block_size, (1,)))
        chunk = self.data[start : start + self.block_size + 1].astype(np.int64)
        return torch.from_numpy(chunk[:-1]), torch.from_numpy(chunk[1:])


def main():
    options = parser(__doc__, batch_size=32)
    options.add_argument("--block-size", type=int, default=1024)
    options.add_argument("--samples", type=int, default=4096)
    args = options.parse_args()
    seed_all(1337)
    dataset = Blocks(os.path.join(args.data, "train.bin"), args.block_size, args.samples)
    print(f"{len(dataset.data):,} tokens")
    loader = DataLoader(dataset, args.batch_size, num_workers=args.workers, pin_memory=False)
    recorder = Recorder()
    for _ in range(args.epochs):
        for x, y in recorder.epoch(loader):
            assert x.shape == y.shape == (args.batch_size, args.block_size)
    recorder.finish()


if __name__ == "__main__":
    main()
