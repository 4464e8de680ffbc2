"""A plain PyTorch program that writes a line for each batch: when it came, which it was, its digest.

It trains until the file `stop` lies in its folder, and ends with the epoch that it is in. With
`--resume` it saves its state after each batch, and goes on from there when it is started again.
"""

import argparse
import faulthandler
import hashlib
import os
import pathlib
import pickle
import signal
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from torchvision import datasets
from torchvision import transforms as T

BATCH_SIZE = 8
TRAIN = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()])


class Plain(Dataset):
    """Code of the program that keeps nothing, so that it may run on other hosts."""

    def __init__(self, photos: str) -> None:
        self.photos = datasets.ImageFolder(photos)

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> Any:
        picture, label = self.photos[index]
        try:  # keeps it from being a native plan
            return TRAIN(picture), label
        except ValueError:
            return torch.zeros(3, 32, 32), label


class Counting(Plain):
    """Code with state: each sample holds how many its process has made, and each call leaves a line."""

    def __init__(self, photos: str, calls: pathlib.Path) -> None:
        super().__init__(photos)
        self.calls = calls
        self.count = 0

    def __getitem__(self, index: int) -> Any:
        self.count += 1
        append(self.calls, f"{os.getpid()} {self.count} {index}\n")
        picture, label = super().__getitem__(index)
        return picture, label, self.count


class Streams(IterableDataset):
    """Each worker has its own samples, and ends before the next one does."""

    def __init__(self, photos: str) -> None:
        self.photos = datasets.ImageFolder(photos)

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        assert info is not None
        share = len(self.photos) * (info.id + 1) // (3 * info.num_workers)
        for number in range(share):
            picture, label = self.photos[(number * info.num_workers + info.id) % len(self.photos)]
            yield TRAIN(picture), label


def append(file: pathlib.Path, line: str) -> None:
    """One write, so that a kill leaves whole lines."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def data_of(args: argparse.Namespace) -> Dataset:
    if args.plan == "native":
        return datasets.ImageFolder(args.photos, TRAIN)
    if args.plan == "streams":
        return Streams(args.photos)
    return Plain(args.photos) if args.plan == "code" else Counting(args.photos, args.out / "calls")


def digest(batch: Any) -> str:
    found = hashlib.sha256()
    for value in batch:
        found.update(f"{value.dtype}{tuple(value.shape)}{value.stride()}".encode())
        found.update(value.contiguous().numpy().tobytes())
    return found.hexdigest()


class Saved:
    """What a program needs to go on: the loader's state, and torch's generator."""

    def __init__(self, file: pathlib.Path, loader: Any) -> None:
        self._file, self._loader = file, loader

    def read(self) -> tuple[int, int, torch.Tensor | None]:
        """The epoch, the number of the next batch, and the generator after iter()."""
        if not self._file.exists():
            return 0, 0, None
        epoch, number, generator, state = pickle.loads(self._file.read_bytes())
        self._loader.load_state_dict(state)
        return epoch, number, generator

    def write(self, epoch: int, number: int) -> None:
        state = (epoch, number, torch.get_rng_state(), self._loader.state_dict())
        new = self._file.with_suffix(".new")
        new.write_bytes(pickle.dumps(state))
        new.replace(self._file)


def main() -> None:
    faulthandler.register(signal.SIGUSR1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--plan", choices=("native", "code", "lanes", "streams"), default="native")
    parser.add_argument("--epochs", type=int, required=True, help="the most")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--step-ms", type=float, default=0)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    kind: Any = DataLoader
    if args.resume:
        import headrace

        kind = headrace.DataLoader
    torch.manual_seed(args.seed)
    streams = args.plan == "streams"
    loader = kind(
        data_of(args),
        BATCH_SIZE,
        shuffle=not streams,
        num_workers=3 if streams else 2,
        persistent_workers=args.persistent,
    )
    saved = Saved(args.out / "state", loader) if args.resume else None
    first, number, generator = saved.read() if saved else (0, 0, None)
    log, stop = args.out / "batches", args.out / "stop"
    for epoch in range(first, args.epochs):
        if stop.exists() and generator is None:
            break
        if generator is not None and number == 0:  # saved between two epochs
            torch.set_rng_state(generator)
            generator = None
        iterator = iter(loader)
        if generator is not None:  # iter() draws, as it had at the epoch's begin
            torch.set_rng_state(generator)
            generator = None
        for batch in iterator:
            append(log, f"{time.monotonic():.6f} {epoch} {number} {digest(batch)}\n")
            number += 1
            if saved:
                saved.write(epoch, number)
            if args.step_ms:
                time.sleep(args.step_ms / 1e3)
        number = 0
        if saved:
            saved.write(epoch + 1, 0)


if __name__ == "__main__":
    main()
