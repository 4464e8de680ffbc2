"""Eleven small programs whose data sets are code of their own, as people write them.

Prints JSON: seconds from iter() to the first batch and of each epoch, a digest of all batches,
and with --memory what it and all processes below it have in memory (PSS) in the second epoch. It does
not know Headrace.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image
from processes import processes_below
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate, get_worker_info
from torchvision import transforms

FILES: list[pathlib.Path] = []
CROP = transforms.Compose([transforms.RandomResizedCrop(96), transforms.ToTensor()])
WORDS = "the quick brown fox jumps over a lazy dog and runs on".split()


class Rows(Dataset):
    """A function of the index, and noise."""

    def __len__(self) -> int:
        return 2048

    def __getitem__(self, index: int) -> Any:
        return torch.full((16,), float(index)) + torch.rand(16), index % 10


class Photos(Dataset):
    def __len__(self) -> int:
        return len(FILES)

    def picture(self, index: int) -> Any:
        with Image.open(FILES[index]) as picture:
            return CROP(picture.convert("RGB"))

    def __getitem__(self, index: int) -> Any:
        return self.picture(index), index % 10


class Remembering(Photos):
    """Mixes each picture with the last one of its class: state from sample to sample."""

    def __init__(self) -> None:
        self.last: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        picture, label = super().__getitem__(index)
        before = self.last.get(label, picture)
        self.last[label] = picture
        return (picture + before) / 2, label


class TwoViews(Photos):
    def __getitem__(self, index: int) -> Any:
        return self.picture(index), self.picture(index)


class Boxes(Photos):
    def __getitem__(self, index: int) -> Any:
        boxes = torch.rand(random.randint(1, 5), 4)
        return self.picture(index), {"boxes": boxes, "id": index}


class Table(Rows):
    """200 MB that the trainer and its workers share."""

    def __init__(self) -> None:
        self.table = np.arange(2048 * 24_000, dtype=np.float32).reshape(2048, -1)

    def __getitem__(self, index: int) -> Any:
        return self.table[index, :4096] * np.float32(2)


class Sentences(Rows):
    def __getitem__(self, index: int) -> Any:
        random.seed(index)
        return [hash_of(random.choice(WORDS)) for _ in range(random.randint(3, 20))]


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        for index in range(info.id, 2048, info.num_workers):
            yield np.random.rand(8), index


def hash_of(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "little")


def padded(sentences: list[Any]) -> Any:
    most = max(map(len, sentences))
    return torch.tensor([sentence + [0] * (most - len(sentence)) for sentence in sentences])


def mixed(samples: list[Any]) -> Any:
    pictures, labels = default_collate(samples)
    share = np.random.beta(0.2, 0.2)
    return pictures * share + pictures.flip(0) * (1 - share), labels


def listed(samples: list[Any]) -> Any:
    return tuple(zip(*samples, strict=True))


PROGRAMS: dict[str, dict[str, Any]] = {
    "rows": {"dataset": Rows},
    "two batches": {"dataset": Rows, "batches": 2},
    "spawned": {"dataset": Rows, "multiprocessing_context": "spawn"},
    "table": {"dataset": Table},
    "sentences": {"dataset": Sentences, "collate_fn": padded},
    "stream": {"dataset": Stream, "shuffle": False},
    "photographs": {"dataset": Photos},
    "photographs with state": {"dataset": Remembering},
    "two views": {"dataset": TwoViews},
    "boxes": {"dataset": Boxes, "collate_fn": listed},
    "mixed in the collate": {"dataset": Photos, "collate_fn": mixed},
}


def memory_kb() -> int:
    """PSS of this process and all below it."""
    total = 0
    for pid in (os.getpid(), *processes_below(os.getpid())):
        try:
            text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue  # gone meanwhile
        total += int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1])
    return total


def add(value: Any, digest: Any) -> None:
    if isinstance(value, torch.Tensor | np.ndarray):
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        add(list(value.values()), digest)
    elif isinstance(value, list | tuple):
        for item in value:
            add(item, digest)
    else:
        digest.update(repr(value).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--digest", action="store_true")
    args = parser.parse_args()
    FILES.extend(sorted(path for path in args.data.rglob("*") if path.is_file())[:256])
    torch.manual_seed(1)
    named = {"shuffle": True, "batch_size": 16, "num_workers": 2, **PROGRAMS[args.name]}
    batches = named.pop("batches", None)
    loader = DataLoader(named.pop("dataset")(), **named)
    result: dict[str, Any] = {"epochs_s": []}
    digest = hashlib.sha256()
    for epoch in range(args.epochs):
        started = time.perf_counter()
        for number, batch in enumerate(loader):
            if epoch == 0 and number == 0:
                result["first_batch_s"] = time.perf_counter() - started
            if args.memory and epoch == 1 and number == 4:
                result["memory_kb"] = memory_kb()
            if args.digest:
                add(batch, digest)
            if batches is not None and number + 1 == batches:
                break
        result["epochs_s"].append(time.perf_counter() - started)
    result["digest"] = digest.hexdigest()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
