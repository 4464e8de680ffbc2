"""A plain program that reads images from a store of objects: one epoch for each line of its standard
input. Prints a JSON line for each: seconds, samples, and how many objects the store sent meanwhile."""

import json
import sys
import time
import urllib.request

import headrace
import torch
from torchvision import transforms as v1

url = sys.argv[1]


def sent() -> int:
    with urllib.request.urlopen(f"{url}/count") as answer:
        return int(answer.read())


transform = v1.Compose([v1.RandomResizedCrop(64), v1.RandomHorizontalFlip(), v1.ToTensor()])
dataset = headrace.open_dataset(url, transform, index="names.txt", remember=3600)
loader = torch.utils.data.DataLoader(dataset, 16, shuffle=True, num_workers=2)
for _ in sys.stdin:
    before, begin = sent(), time.perf_counter()
    samples = sum(len(labels) for _, labels in loader)
    seconds = time.perf_counter() - begin
    print(
        json.dumps({"seconds": seconds, "samples": samples, "reads": sent() - before}), flush=True
    )
