"""Loaders that are iterated in threads: several at once, or one after the other beside a main thread that
draws random numbers all the while.

torch's own loaders fork their workers while other threads hold locks, and now and then a worker waits for
one for ever. So with `--one-by-one` nothing runs beside anything: what is told is the same.
"""

import argparse
import random
import threading

import numpy as np
import torch
from told import say, tell
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T


def pipeline(size):
    return T.Compose(
        [
            T.RandomResizedCrop(size),
            T.RandomHorizontalFlip(),
            T.ColorJitter(0.3, 0.3),
            T.ToTensor(),
        ]
    )


def train(name, data, seed, epochs):
    generator = torch.Generator().manual_seed(seed)
    loader = DataLoader(data, 4, shuffle=True, num_workers=2, generator=generator)
    for epoch in range(epochs):
        for i, batch in enumerate(loader):
            tell(f"{name}.{epoch}.{i}", len(batch[0]), batch)


def three(root, one_by_one):
    """Each has a loader of its own; the data set is one."""
    data = datasets.ImageFolder(root, pipeline(64))
    threads = [threading.Thread(target=train, args=(f"thread{k}", data, k, 2)) for k in range(3)]
    for thread in threads:
        thread.start()
        if one_by_one:
            thread.join()
    for thread in threads:
        thread.join()


def background(root, one_by_one):
    """The main thread's numbers are those of its seeds, however many it draws meanwhile."""

    def work():
        for k in range(3):  # each a plan that nobody has compared yet
            train(f"background{k}", datasets.ImageFolder(root, pipeline(48 + 8 * k)), k, 1)

    torch.manual_seed(1)
    random.seed(2)
    np.random.seed(3)
    streams = torch.Generator().manual_seed(1), random.Random(2), np.random.RandomState(3)
    thread = threading.Thread(target=work)
    thread.start()
    if one_by_one:
        thread.join()
    same = [True, True, True]
    while thread.is_alive():
        same[0] &= torch.equal(torch.rand(5), torch.rand(5, generator=streams[0]))
        same[1] &= random.random() == streams[1].random()
        same[2] &= np.random.rand() == streams[2].rand()
    say(f"result the main thread's numbers are its own: {same}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=["three", "background"])
    parser.add_argument("root")
    parser.add_argument("--one-by-one", metavar="OUT", default="", help="where OUT ends in 'stock'")
    given = parser.parse_args()
    {"three": three, "background": background}[given.how](
        given.root, given.one_by_one.endswith("stock")
    )


if __name__ == "__main__":
    main()
