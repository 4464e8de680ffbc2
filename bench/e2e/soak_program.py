"""A program that goes on and on: epochs, epochs that are left early, iterators and loaders that are
made and dropped. Prints a line of JSON for each checkpoint: what it and its processes hold."""

import argparse
import gc
import json
import os
import pathlib
import time

import torch
from processes import processes_below
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as T

TRAIN = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()])


class Counting(Dataset):
    """Code with state, which stays in the loader's own processes."""

    def __init__(self, photos: str) -> None:
        self.photos = datasets.ImageFolder(photos)
        self.count = 0

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int, int]:
        self.count += 1
        picture, label = self.photos[index]
        return TRAIN(picture), label, self.count


def held(pid: int) -> dict[str, int]:
    """Memory that is this process's share (PSS), in kB; open descriptors; threads."""
    place = pathlib.Path(f"/proc/{pid}")
    rollup = (place / "smaps_rollup").read_text()
    status = (place / "status").read_text()
    return {
        "memory_kb": int(rollup.split("\nPss:", 1)[1].split()[0]),
        "descriptors": len(os.listdir(place / "fd")),
        "threads": int(status.split("\nThreads:", 1)[1].split()[0]),
    }


def checkpoint(kind: str, number: int) -> None:
    gc.collect()
    time.sleep(1)  # processes of the last iterator are ending
    others = []
    for pid in processes_below(os.getpid()):
        try:
            others.append(held(pid))
        except OSError:
            continue  # ended meanwhile
    totals = {f"their_{key}": sum(other[key] for other in others) for key in held(os.getpid())}
    line = {"kind": kind, "number": number, **held(os.getpid()), **totals, "processes": len(others)}
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos")
    parser.add_argument("--code", action="store_true", help="with state; else a native plan")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--every", type=int, default=50)
    args = parser.parse_args()
    data = Counting(args.photos) if args.code else datasets.ImageFolder(args.photos, TRAIN)

    def loader() -> DataLoader:
        return DataLoader(data, 8, shuffle=True, num_workers=2, persistent_workers=args.persistent)

    kept = loader()

    def epoch() -> None:
        for _ in kept:
            pass

    def early_break() -> None:
        for _ in kept:
            break

    def iterator() -> None:
        next(iter(loader()))

    for kind, step in (("epochs", epoch), ("early breaks", early_break), ("loaders", iterator)):
        for number in range(1, args.times + 1):
            step()
            if number % args.every == 0:
                checkpoint(kind, number)


main()
