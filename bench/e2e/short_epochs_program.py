"""Programs with short epochs, in the shapes of well-known repositories' data code, written here.

Prints JSON: of each epoch the seconds in iter(), to its first batch and to its end, and the CPU seconds of
all processes below the one that --root names. It does not know Headrace.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import time
from typing import Any

import numpy as np
import torch
import torchvision.transforms.functional as F
from code_program import add
from PIL import Image, ImageFilter, ImageOps
from processes import cpu_below
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SAMPLES = {"crops": 8, "detection": 2, "clouds": 16, "tokens": 16}  # in a batch


class Blur:
    """PIL's, by chance and of a radius that is drawn."""

    def __init__(self, chance: float) -> None:
        self.chance = chance

    def __call__(self, picture: Any) -> Any:
        if random.random() > self.chance:
            return picture
        return picture.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.1, 2.0)))


class Solarize:
    def __init__(self, chance: float) -> None:
        self.chance = chance

    def __call__(self, picture: Any) -> Any:
        return ImageOps.solarize(picture) if random.random() < self.chance else picture


class Crops:
    """Two large crops and six small ones of each picture."""

    def __init__(self) -> None:
        colours = transforms.Compose(
            [
                transforms.RandomHorizontalFlip(p=0.5),
                transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
                transforms.RandomGrayscale(p=0.2),
            ]
        )
        last = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
        cubic = transforms.InterpolationMode.BICUBIC
        large = transforms.RandomResizedCrop(224, scale=(0.4, 1.0), interpolation=cubic)
        small = transforms.RandomResizedCrop(96, scale=(0.05, 0.4), interpolation=cubic)
        self.first = transforms.Compose([large, colours, Blur(1.0), last])
        self.second = transforms.Compose([large, colours, Blur(0.1), Solarize(0.2), last])
        self.local = transforms.Compose([small, colours, Blur(0.5), last])

    def __call__(self, picture: Any) -> list[Any]:
        views = [self.first(picture), self.second(picture)]
        return views + [self.local(picture) for _ in range(6)]


class Pictures(Dataset):
    def __init__(self, files: list[pathlib.Path], transform: Any) -> None:
        self.samples = [(str(path), number % 10) for number, path in enumerate(files)]
        self.transform = transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Any:
        path, label = self.samples[index]
        with open(path, "rb") as file:
            picture = Image.open(file).convert("RGB")
        return self.transform(picture), label


class Detection(Dataset):
    """Pictures of natural size with boxes; the shorter side is drawn from a list."""

    def __init__(self, files: list[pathlib.Path]) -> None:
        self.files = [str(path) for path in files]
        self.sides = [480, 512, 544, 576, 608, 640]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        picture = Image.open(self.files[index]).convert("RGB")
        boxes = torch.rand(1 + index % 5, 4, generator=torch.Generator().manual_seed(index))
        if random.random() < 0.5:
            picture = F.hflip(picture)
            boxes = boxes[:, [2, 1, 0, 3]] * torch.as_tensor([-1, 1, -1, 1]) + torch.as_tensor(
                [1, 0, 1, 0]
            )
        picture = F.resize(picture, self._size(picture, random.choice(self.sides)))
        pixels = F.normalize(F.to_tensor(picture), MEAN, STD)
        return pixels, {"boxes": boxes, "image_id": torch.tensor([index])}

    def _size(self, picture: Any, side: int) -> list[int]:
        width, height = picture.size
        scale = min(side / min(width, height), 1000 / max(width, height))
        return [int(height * scale), int(width * scale)]


def padded(samples: list[Any]) -> Any:
    pictures, targets = zip(*samples, strict=True)
    height, width = (max(p.shape[side] for p in pictures) for side in (1, 2))
    batch = torch.zeros(len(pictures), 3, height, width)
    mask = torch.ones(len(pictures), height, width, dtype=torch.bool)
    for picture, row, hidden in zip(pictures, batch, mask, strict=True):
        row[:, : picture.shape[1], : picture.shape[2]].copy_(picture)
        hidden[: picture.shape[1], : picture.shape[2]] = False
    return batch, mask, targets


class Clouds(Dataset):
    """Points from text files."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.files = sorted(folder.glob("*.txt"))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        points = np.loadtxt(self.files[index]).astype(np.float32)
        points = points[np.random.choice(len(points), 512), :3]
        points -= points.mean(axis=0)
        points /= np.max(np.sqrt((points**2).sum(axis=1)))
        points *= np.random.uniform(0.8, 1.25)
        points += np.random.randn(*points.shape).astype(np.float32) * 0.01
        return torch.from_numpy(points), index % 10


class Tokens(Dataset):
    """Windows of one long sequence."""

    def __init__(self, block: int) -> None:
        self.tokens = np.arange(4_000_000, dtype=np.uint16)
        self.block = block

    def __len__(self) -> int:
        return len(self.tokens) // self.block - 1

    def __getitem__(self, index: int) -> Any:
        at = index * self.block + random.randrange(self.block)
        window = self.tokens[at : at + self.block + 1].astype(np.int64)
        return torch.from_numpy(window[:-1].copy()), torch.from_numpy(window[1:].copy())


def write_clouds(folder: pathlib.Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    drawn = np.random.default_rng(1)
    for number in range(count):
        path = folder / f"{number:04}.txt"
        if not path.exists():
            np.savetxt(path, drawn.normal(size=(1024, 6)), fmt="%.6f")


def loader_of(args: argparse.Namespace) -> DataLoader:
    samples = SAMPLES[args.name]
    count = samples * args.batches
    collate = None
    if args.name == "clouds":
        write_clouds(args.scratch, count)
        dataset: Dataset = Clouds(args.scratch)
    elif args.name == "tokens":
        dataset = torch.utils.data.Subset(Tokens(256), range(count))
    else:
        files = sorted(path for path in args.data.rglob("*") if path.is_file())[:count]
        if args.name == "crops":
            dataset = Pictures(files, Crops())
        else:
            dataset, collate = Detection(files), padded
    return DataLoader(
        dataset,
        samples,
        shuffle=True,
        num_workers=2,
        collate_fn=collate,
        persistent_workers=args.persistent,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SAMPLES)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--leave-after", type=int, default=0, help="batches; 0: none is left")
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--digest", action="store_true")
    parser.add_argument("--root", type=int, default=os.getpid())
    args = parser.parse_args()
    loader = loader_of(args)
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    digest = hashlib.sha256()
    epochs = []
    for _ in range(args.epochs):
        cpu = [cpu_below(args.root)]
        times = [time.perf_counter()]
        batches = iter(loader)
        times.append(time.perf_counter())
        for number, batch in enumerate(batches):
            if number == 0:
                times.append(time.perf_counter())
                cpu.append(cpu_below(args.root))
            if args.digest:
                add(batch, digest)
            if number + 1 == args.leave_after:
                break
        del batches
        times.append(time.perf_counter())
        cpu.append(cpu_below(args.root))
        epochs.append(
            {
                "iter_s": times[1] - times[0],
                "first_s": times[2] - times[0],
                "rest_s": times[3] - times[2],
                "whole_s": times[3] - times[0],
                "first_cpu_s": cpu[1] - cpu[0],
                "rest_cpu_s": cpu[2] - cpu[1],
                "whole_cpu_s": cpu[2] - cpu[0],
            }
        )
    print(json.dumps({"epochs": epochs, "digest": digest.hexdigest()}))


if __name__ == "__main__":
    main()
