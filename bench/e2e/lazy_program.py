"""A plain PyTorch program with num_workers=0, torch's default, and a training step of a kind.

Prints one JSON line: per epoch the wall seconds and samples, a checksum of all batches, and one of
the states of the program's generators at the end.
"""

import argparse
import json
import pathlib
import random
import tempfile
import time
import zlib

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import datasets
from torchvision import transforms as T

ROWS = 12_800


def folder(place: str) -> Dataset:
    return datasets.ImageFolder(
        place,
        T.Compose(
            [
                T.RandomResizedCrop(224),
                T.RandomHorizontalFlip(),
                T.ToTensor(),
                T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        ),
    )


def digits(place: str) -> Dataset:
    """As many as the MNIST example has in a fifth of its epoch, of drawn pixels."""
    rng = np.random.default_rng(0)
    raw = pathlib.Path(place) / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in ("train", "t10k"):
        head = np.array([0x803, ROWS, 28, 28], ">i4").tobytes()
        pixels = rng.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8).tobytes()
        (raw / f"{name}-images-idx3-ubyte").write_bytes(head + pixels)
        head = np.array([0x801, ROWS], ">i4").tobytes()
        labels = rng.integers(0, 10, ROWS, dtype=np.uint8).tobytes()
        (raw / f"{name}-labels-idx1-ubyte").write_bytes(head + labels)
    transform = T.Compose([T.ToTensor(), T.Normalize((0.1307,), (0.3081,))])
    return datasets.MNIST(place, transform=transform)


def tensors(place: str) -> Dataset:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(ROWS, 32, generator=generator)
    return TensorDataset(features, torch.randint(10, (ROWS,), generator=generator))


KINDS = {"folder": folder, "digits": digits, "tensors": tensors}


class Step:
    """`milliseconds` of arithmetic, and with `dropout` a draw from the CPU generator before it."""

    def __init__(self, milliseconds: float, dropout: bool) -> None:
        self.layer = torch.nn.Dropout(0.5) if dropout else torch.nn.Identity()
        self.matrix = torch.eye(256)
        self.products = round(milliseconds / self.cost_ms()) if milliseconds else 0

    def cost_ms(self) -> float:
        start = time.perf_counter()
        for _ in range(200):
            self.matrix @ self.matrix
        return (time.perf_counter() - start) / 200 * 1e3

    def __call__(self) -> None:
        self.layer(self.matrix[:64])
        for _ in range(self.products):
            self.matrix @ self.matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--data", help="of photographs")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--step-ms", type=float, default=0.0)
    parser.add_argument("--dropout", action="store_true")
    parser.add_argument("--sums", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    step = Step(args.step_ms, args.dropout)
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    with tempfile.TemporaryDirectory() as place:
        loader = DataLoader(KINDS[args.kind](args.data or place), args.batch_size, shuffle=True)
        epochs, total = [], 0
        for _ in range(args.epochs):
            start, samples = time.perf_counter(), 0
            for batch, labels in loader:
                samples += len(labels)
                if args.sums:
                    total = zlib.crc32(labels.numpy(), zlib.crc32(batch.numpy(), total))
                step()
            epochs.append({"wall_s": time.perf_counter() - start, "samples": samples})
    states = torch.get_rng_state().numpy().tobytes() + repr(random.getstate()).encode()
    states += repr(np.random.get_state(legacy=False)).encode()
    print(json.dumps({"epochs": epochs, "sum": total, "generators": zlib.crc32(states)}))


if __name__ == "__main__":
    main()
