"""Data sets of programs, whose pictures are tensors of torchvision.io."""

import os
from functools import partial
from pathlib import Path

import torch
from torchvision import datasets, io
from torchvision import transforms as v1
from torchvision.io import ImageReadMode, decode_image, decode_jpeg, read_file, read_image
from torchvision.transforms import v2

from support.own_datasets import files_of

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def training(side=16):
    moves = [v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip()]
    return v2.Compose([*moves, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])


def evaluation():
    sizes = [v2.Resize(24, antialias=True), v2.CenterCrop(16)]
    return v2.Compose([*sizes, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])


def augmented():
    return v2.Compose(
        [v2.RandomResizedCrop(16), v2.TrivialAugmentWide(), v2.ToDtype(torch.float32)]
    )


def first_version():
    sizes = [v1.Resize(24, antialias=True), v1.CenterCrop(16), v1.RandomVerticalFlip()]
    return v1.Compose([*sizes, v1.ConvertImageDtype(torch.float32)])


class Read(torch.utils.data.Dataset):
    def __init__(self, root, transform=None):
        self.root, self.names = str(root), files_of(root)
        self.labels = [int(name[5]) for name in self.names]
        self.transform = transform or training()

    def __len__(self):
        return len(self.names)

    def path(self, idx):
        return os.path.join(self.root, self.names[idx])

    def __getitem__(self, idx):
        image = read_image(self.path(idx), mode=ImageReadMode.RGB)
        return self.transform(image), self.labels[idx]


class Unchanged(Read):
    def __getitem__(self, idx):
        return self.transform(decode_image(self.path(idx))), self.labels[idx]


class OfBytes(Read):
    def __getitem__(self, idx):
        data = read_file(self.path(idx))
        return {"image": self.transform(decode_image(data, ImageReadMode.RGB)), "label": idx}


class Jpeg(Read):
    """By a path of pathlib, the module's name and a text."""

    def __getitem__(self, idx):
        data = io.read_file(Path(self.root) / self.names[idx])
        return self.transform(io.decode_jpeg(data, mode="rgb", device="cpu"))


class Twice(Read):
    """Two views, and the file read for each."""

    def __getitem__(self, idx):
        path = self.path(idx)
        views = [self.transform(read_image(path, ImageReadMode.RGB)) for _ in range(2)]
        return views, self.labels[idx]


NATIVE = {
    "read": Read,
    "unchanged": Unchanged,
    "of bytes": OfBytes,
    "jpeg": Jpeg,
    "twice": Twice,
    "evaluation": lambda root: Read(root, evaluation()),
    "augmented": lambda root: Read(root, augmented()),
    "v1": lambda root: Read(root, first_version()),
    "folder": lambda root: datasets.ImageFolder(root, training(), loader=read_image),
    "folder, a lambda": lambda root: datasets.ImageFolder(
        root, evaluation(), loader=lambda path: decode_jpeg(read_file(path), ImageReadMode.RGB)
    ),
    "folder, a partial": lambda root: datasets.ImageFolder(
        root, training(), loader=partial(read_image, mode=ImageReadMode.RGB)
    ),
}
