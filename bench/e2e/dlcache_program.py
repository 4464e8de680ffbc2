"""A plain program that trains by sleeping: DLCache's experiment, all cells one after the other. Prints a JSON
line for each: seconds in next(), and from iter() to the end."""

import argparse
import json
import os
import pathlib
import time

import torch
from torchvision import transforms as v1
from torchvision.datasets import ImageFolder

parser = argparse.ArgumentParser()
parser.add_argument("data", type=pathlib.Path)
parser.add_argument(
    "--cells", required=True, help="JSON: a list of [batch size, seconds of a step]"
)
parser.add_argument("--batches", type=int, required=True)
parser.add_argument("--workers", type=int, required=True)
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()

torch.set_num_threads(1)
transform = v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.ToTensor()])


def drop_pages():
    for path in arguments.data.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


for number, (batch, step) in enumerate(json.loads(arguments.cells)):
    drop_pages()
    dataset = ImageFolder(arguments.data, transform)
    generator = torch.Generator()
    generator.manual_seed(1000 * arguments.seed + number)
    order = torch.randperm(len(dataset), generator=generator)[: arguments.batches * batch]
    loader = torch.utils.data.DataLoader(
        dataset, batch, sampler=order.tolist(), num_workers=arguments.workers, generator=generator
    )
    blocked = 0.0
    begin = time.perf_counter()
    batches = iter(loader)
    for _ in range(arguments.batches):
        asked = time.perf_counter()
        next(batches)
        blocked += time.perf_counter() - asked
        time.sleep(step)
    seconds = time.perf_counter() - begin
    del batches
    print(
        json.dumps({"batch": batch, "step": step, "blocked_s": blocked, "s": seconds}), flush=True
    )
