"""A plain PyTorch program over a folder of photographs that says when each batch came.

Prints one JSON line: the monotonic times of all batches, and a checksum of them.
"""

import json
import sys
import time
import zlib

import torch
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

TRAIN = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor()])


def main() -> None:
    torch.manual_seed(7)
    data = datasets.ImageFolder(sys.argv[1], TRAIN)
    loader = DataLoader(data, 16, shuffle=True, num_workers=2, persistent_workers=True)
    times, checksum = [], 0
    for _ in range(int(sys.argv[2])):
        for images, _labels in loader:
            times.append(time.monotonic())
            checksum = zlib.crc32(images.numpy().tobytes(), checksum)
            print(len(times), file=sys.stderr, flush=True)
    print(json.dumps({"times": times, "checksum": checksum}))


if __name__ == "__main__":
    main()
