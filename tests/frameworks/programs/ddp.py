"""Plain DistributedDataParallel over gloo, a DistributedSampler, two epochs. Starts its own ranks."""

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from common import small_model, train_set
from told import say, tell
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

RANKS = 2
kept = []  # gloo's destructor may wait for a thread that waits for the interpreter


def train(rank: int, folder: str, folder_of_run: str) -> None:
    dist.init_process_group(
        "gloo", init_method=f"file://{folder_of_run}/ranks", rank=rank, world_size=RANKS
    )
    torch.manual_seed(1)
    data = train_set(folder)
    sampler = DistributedSampler(data, RANKS, rank)
    loader = DataLoader(data, 4, sampler=sampler, num_workers=2)
    model = DistributedDataParallel(small_model())
    kept.append(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for step, (images, labels) in enumerate(loader):
            tell((rank, epoch, step), len(labels), (images, labels))
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
    say(f"weights {rank} {sum(p.double().sum().item() for p in model.parameters()):.12g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.start_processes(train, (sys.argv[1], sys.argv[2]), nprocs=RANKS, start_method="spawn")
