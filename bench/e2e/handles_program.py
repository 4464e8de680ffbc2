"""A plain PyTorch program that reads a language model's tokens from a memory map, as nanoGPT's data does.

Prints one JSON line: wall seconds of each epoch, tokens of an epoch, CPU seconds of the program's own
process and of its children, and with --digest a checksum of the batches.
"""

import argparse
import json
import pathlib
import resource
import time
import zlib

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Tokens(Dataset):
    def __init__(self, path: pathlib.Path, block: int, shuffles: int, as_code: bool) -> None:
        self.data = np.memmap(path, dtype=np.uint16, mode="r")
        self.block = block
        self.shuffles = shuffles
        self.as_code = as_code

    def __len__(self) -> int:
        return (len(self.data) - 1) // self.block

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if self.as_code:
            sorted(())  # a call that is not followed: workers don't read the windows by themselves
        at = index * self.block
        x = self.data[at : at + self.block].astype(np.int64)
        y = self.data[at + 1 : at + 1 + self.block].astype(np.int64)
        for _ in range(self.shuffles):  # stands for work on the text: packing, masking, noise
            order = np.argsort(x, kind="stable")
            x, y = x[order], y[order]
        return torch.from_numpy(x), torch.from_numpy(y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--block", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--shuffles", type=int, default=0)
    parser.add_argument("--as-code", action="store_true")
    parser.add_argument("--digest", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    data = Tokens(args.data, args.block, args.shuffles, args.as_code)
    loader = DataLoader(
        data, args.batch, shuffle=True, num_workers=args.num_workers, persistent_workers=True
    )
    seconds, digest = [], 0
    for _ in range(args.epochs):
        began = time.perf_counter()
        for x, y in loader:
            if args.digest:
                digest = zlib.crc32(y.numpy(), zlib.crc32(x.numpy(), digest))
        seconds.append(time.perf_counter() - began)
    del loader
    own = resource.getrusage(resource.RUSAGE_SELF)
    theirs = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        json.dumps(
            {
                "epochs_s": seconds,
                "tokens": len(data) * args.block,
                "own_cpu_s": own.ru_utime + own.ru_stime,
                "children_cpu_s": theirs.ru_utime + theirs.ru_stime,
                "digest": digest,
            }
        )
    )


if __name__ == "__main__":
    main()
