"""What a picture of what code can reach costs (headrace/stage/reach.py), and what the watch adds to
batches: CPU time, medians.

    .venv/bin/python bench/e2e/watch.py
"""

import argparse
import statistics
import time

import numpy as np
import torch
from headrace.stage.reach import picture
from headrace.stage.watch import EVERY, FIRST, Watch
from torch.utils.data import Dataset
from torchvision import transforms


class Folder(Dataset):
    def __init__(self, files):
        self.samples = [(f"class{i % 1000}/picture{i}.jpg", i % 1000) for i in range(files)]
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])

    def __getitem__(self, index):
        path, label = self.samples[index]
        return torch.rand(3, 64, 64).mul_(len(path)), label


class Arrays(Folder):
    def __init__(self, files):
        super().__init__(files)
        self.rows = np.zeros((files, 256), np.uint8)
        self.banks = [torch.zeros(1 << 18) for _ in range(32)]


class Deep(Folder):
    """More than a picture holds."""

    def __init__(self, files):
        super().__init__(files)
        self.tree = [[[j, i] for j in range(100)] for i in range(200)]


def cost(data, rounds):
    taken = []
    for _ in range(rounds):
        began = time.process_time()
        places = len(picture({"dataset": data}).tokens)
        taken.append(time.process_time() - began)
    return places, statistics.median(taken) * 1e3


def share(data, batches):
    """Of the time of batches, the part that the watch takes after the first few."""
    watch = Watch({"dataset": data}, False, time.process_time)
    made = looked = 0.0
    for number in range(batches):
        began = time.process_time()
        watch.before()
        for index in range(32):
            data[index]
        between = time.process_time()
        watch.after()
        if number > FIRST:
            made += between - began
            looked += time.process_time() - between
    return looked / made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--batches", type=int, default=4 * EVERY)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for kind in (Folder, Arrays, Deep):
        data = kind(options.files)
        places, milliseconds = cost(data, options.rounds)
        part = share(data, options.batches) * 100
        print(f"{kind.__name__:8} {places:5} places {milliseconds:7.2f} ms a picture {part:6.2f} %")


if __name__ == "__main__":
    main()
