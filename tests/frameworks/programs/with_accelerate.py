"""Accelerate over two processes, the second epoch resumed in its middle with skip_first_batches."""

import os
import sys

import torch
import torch.multiprocessing as mp
from accelerate import Accelerator
from common import small_model, train_set
from told import tell
from torch.utils.data import DataLoader

RANKS = 2
kept = []  # gloo's destructor may wait for a thread that waits for the interpreter


def train(rank: int, folder: str, port: str) -> None:
    # What `accelerate launch` sets.
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(RANKS),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=port,
    )
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(5)
    loader = DataLoader(train_set(folder), 4, shuffle=True, num_workers=2)
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    kept.append((accelerator, model))
    for epoch in range(2):
        batches = accelerator.skip_first_batches(loader, 2) if epoch else loader
        for step, (images, labels) in enumerate(batches):
            tell((accelerator.process_index, epoch, step), len(labels), (images, labels))
            optimizer.zero_grad()
            accelerator.backward(torch.nn.functional.cross_entropy(model(images), labels))
            optimizer.step()
    accelerator.end_training()


if __name__ == "__main__":
    mp.start_processes(train, (sys.argv[1], sys.argv[3]), nprocs=RANKS, start_method="spawn")
