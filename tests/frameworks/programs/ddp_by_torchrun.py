"""DistributedDataParallel as users write it for torchrun, with no word of Headrace. After each
epoch it stands still until a file appears, so that it can be looked at."""

import argparse
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from told import say, tell
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

kept = []  # gloo's destructor may wait for a thread that waits for the interpreter


class Noisy(Dataset):
    """Random numbers of the loader's lanes, and a sample that may take its time."""

    def __init__(self, samples: int, seconds: float):
        self.samples, self.seconds = samples, seconds

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        if self.seconds:
            time.sleep(self.seconds)
        return index + torch.rand(8), index % 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", type=Path)
    parser.add_argument("samples", type=int)
    parser.add_argument("batch", type=int)
    parser.add_argument("epochs", type=int)
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--slow", type=float, default=0)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)
    data = Noisy(args.samples, args.slow if rank == args.slow_rank else 0)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, args.batch, sampler=sampler, num_workers=2)
    model = DistributedDataParallel(torch.nn.Linear(8, 2))
    kept.append(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, (numbers, labels) in enumerate(loader):
            tell((rank, epoch, step), len(labels), (numbers, labels))
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(numbers), labels).backward()
            optimizer.step()
        while not os.path.exists(args.place / f"behind_epoch_{epoch}"):
            time.sleep(0.01)
    say(f"weights {rank} {sum(p.double().sum().item() for p in model.parameters()):.17g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
