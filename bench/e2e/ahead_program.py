"""A PyTorch program whose data set is code of its own: photographs by PIL, and a step of numpy's.

Prints one JSON line: per epoch the wall seconds and samples, CPU seconds of the program and its children, and a
checksum of all batches.
"""

import argparse
import json
import pathlib
import random
import resource
import time
import zlib

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Photographs(Dataset):
    """Named in a list, as most are."""

    def __init__(self, root: pathlib.Path, reader: str) -> None:
        self.root, self.reader = str(root), reader
        self.names = sorted(path.name for path in root.iterdir())

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        path = f"{self.root}/{self.names[index]}"
        if self.reader == "opencv":
            import cv2

            picture = cv2.resize(cv2.imread(path), (224, 224))
        else:
            with Image.open(path) as opened:
                picture = opened.convert("RGB").resize((224, 224))
        pixels = np.asarray(picture, np.float32)
        shift = random.random()  # a step that no plan knows
        return torch.from_numpy(np.roll(pixels / 255.0 - shift, index % 7, axis=0)), index


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument(
        "--not-ahead", action="store_true", help="files are read when the code asks"
    )
    parser.add_argument(
        "--not-decoded-ahead", action="store_true", help="files are read ahead, and decoded here"
    )
    parser.add_argument("--reader", choices=("pil", "opencv"), default="pil")
    parser.add_argument("--sums", action="store_true")
    args = parser.parse_args()
    if args.not_ahead:
        from headrace.stage import ahead

        ahead.possible = False
    if args.not_decoded_ahead:
        from headrace.stage import ahead_decoding

        ahead_decoding.possible = False
    if args.reader == "opencv":
        import cv2

        cv2.setNumThreads(1)
    random.seed(1)
    torch.manual_seed(1)
    loader = DataLoader(
        Photographs(args.data, args.reader),
        args.batch_size,
        shuffle=True,
        num_workers=args.num_workers,
    )
    epochs, total = [], 0
    for _ in range(args.epochs):
        began, samples = time.perf_counter(), 0
        for pictures, index in loader:
            samples += len(index)
            if args.sums:
                total = zlib.crc32(pictures.numpy().tobytes(), total)
        epochs.append({"wall_s": time.perf_counter() - began, "samples": samples})
    del loader
    cpu = sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    print(json.dumps({"epochs": epochs, "cpu_s": cpu, "sum": total}))


if __name__ == "__main__":
    main()
