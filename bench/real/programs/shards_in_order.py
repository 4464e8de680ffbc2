"""A stream of shards: text files read line by line, shared out among workers, shuffled in a buffer."""

import json
import random

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class PackedText(IterableDataset):
    """Texts as bytes, one after the other, cut into rows of the same length."""

    def __init__(self, path, length=256, buffer=200, seed=0):
        super().__init__()
        self.path, self.length, self.buffer, self.seed = path, length, buffer, seed
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def lines(self, shard, shards):
        with open(self.path, encoding="utf-8") as file:
            for number, line in enumerate(file):
                if number % shards == shard:
                    yield json.loads(line)["text"]

    def shuffled(self, texts, rng):
        held = []
        for text in texts:
            if len(held) < self.buffer:
                held.append(text)
                continue
            place = rng.randrange(self.buffer)
            held[place], text = text, held[place]
            yield text
        rng.shuffle(held)
        yield from held

    def __iter__(self):
        info = get_worker_info()
        shard, shards = (0, 1) if info is None else (info.id, info.num_workers)
        rng = random.Random(self.seed + self.epoch * 1000 + shard)
        row = np.zeros(0, dtype=np.uint8)
        for text in self.shuffled(self.lines(shard, shards), rng):
            row = np.concatenate([row, np.frombuffer(text.encode() + b"\0", dtype=np.uint8)])
            while len(row) > self.length:
                chunk = torch.from_numpy(row[: self.length + 1].astype(np.int64))
                yield {"input": chunk[:-1], "target": chunk[1:]}
                row = row[self.length :]


def main():
    args = parser(__doc__).parse_args()
    seed_all(46)
    dataset = PackedText(f"{args.data}/articles.jsonl")
    loader = DataLoader(dataset, args.batch_size, num_workers=args.workers)
    recorder = Recorder()
    for epoch in range(args.epochs):
        dataset.set_epoch(epoch)
        for batch in recorder.epoch(loader):
            assert batch["input"].shape == batch["target"].shape
    recorder.finish()


if __name__ == "__main__":
    main()
