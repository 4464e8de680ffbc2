"""Datasets and collate functions that go wrong, each in its own way. Everything is this file's own."""

import sys
import threading

import torch
from told import say, tell
from torch.utils.data import DataLoader, Dataset


class NoSuchSample(Exception):
    def __init__(self, index, place):
        super().__init__(f"no sample {index} in {place}")
        self.index = index


class Numbers(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.full((300,), float(i)) + torch.rand(300)


class Locked(Numbers):
    def __init__(self):
        self.cache = {"lock": threading.Lock()}

    def __getitem__(self, i):
        with self.cache["lock"]:
            return super().__getitem__(i)


class Raising(Numbers):
    def __getitem__(self, i):
        if i == 7:
            raise NoSuchSample(i, "the archive")
        return super().__getitem__(i)


class Hanging(Numbers):
    def __getitem__(self, i):
        if i == 7:
            threading.Event().wait()
        return super().__getitem__(i)


def in_parts(samples):
    return (sample.sum() for sample in samples)


LOADERS = {
    "unpicklable": lambda: DataLoader(Locked(), 2, num_workers=2),
    "of_main": lambda: DataLoader(Numbers(), 2, num_workers=2),
    "raises": lambda: DataLoader(Raising(), 2, num_workers=2),
    "hangs": lambda: DataLoader(Hanging(), 2, num_workers=2, timeout=float(sys.argv[2])),
    "generator": lambda: DataLoader(Numbers(), 2, num_workers=2, collate_fn=in_parts),
}


def main():
    torch.manual_seed(2)
    batches = iter(LOADERS[sys.argv[1]]())
    for step in range(7):
        try:
            batch = next(batches)
        except StopIteration:
            say(f"result {step} end")
        except Exception as error:
            # Without the lines of a traceback, which name files and lines.
            lines = [line for line in str(error).splitlines() if not line.startswith(" ")]
            say(f"result {step} {type(error).__name__} {getattr(error, 'index', '')} {lines}")
            if sys.argv[1] == "hangs":
                break
        else:
            tell(step, len(batch), batch)


if __name__ == "__main__":
    main()
