"""Reads ranges of an object in lanes: by the lane's own client, by its worker, and once more from the cache.

    python bench/e2e/stage_objects_program.py URL BYTES READS

Each range is read the first two ways, one after the other, which of them begins alternates, and once more
with the next range. Prints the
seconds of each read as JSON.
"""

import json
import random
import sys
import time
import urllib.request

import torch
from headrace.fs import HttpFileSystem
from headrace.process import object_reads
from torch.utils.data import DataLoader, Dataset

SIZE = 256 << 20


class Reads(Dataset):
    def __init__(self, path, count, reads, epoch):
        self.path, self.count, self.reads, self.epoch = path, count, reads, epoch
        self.files = HttpFileSystem()
        self.last = 0

    def __len__(self):
        return self.reads

    def read(self, first, version):
        began = time.perf_counter()
        content = self.files.read_range(self.path, first, first + self.count, SIZE, version)
        took = time.perf_counter() - began
        assert len(content) == self.count
        return took

    def __getitem__(self, index):
        by = object_reads.by
        _, version = self.files.look(self.path)
        first = random.Random(f"{self.epoch} {index}").randrange(SIZE - self.count)
        took = {}
        for way in ("itself", "worker")[:: 1 if index % 2 else -1]:
            object_reads.by = by if way == "worker" else None
            took[way] = self.read(first, version)
        object_reads.by = by
        # The range of the sample before: what was read is kept after it was answered.
        took["cache"] = self.read(self.last or first, version)
        self.last = first
        return torch.tensor([took["itself"], took["worker"], took["cache"]], dtype=torch.float64)


def asked(url):
    with urllib.request.urlopen(url.rpartition("/")[0] + "/count") as answer:
        return int(answer.read())


def main():
    url, count, reads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    path = url.removeprefix("http://")
    for epoch in range(60):
        before = asked(url)
        rows = torch.cat(list(DataLoader(Reads(path, count, reads, epoch), 4, num_workers=1)))
        if asked(url) - before <= 2.1 * reads:  # nearly all of the third ones were in the cache
            print(json.dumps({"reads": rows.tolist()}))
            return
        time.sleep(0.5)
    raise SystemExit("the worker's cache was not granted")


if __name__ == "__main__":
    main()
