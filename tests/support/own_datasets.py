"""Data sets of programs, whose __getitem__ opens pictures by paths."""

import os
from pathlib import Path

from PIL import Image
from torch.utils.data import Dataset
from torchvision import datasets
from torchvision import transforms as v1


def augment():
    return v1.Compose([v1.RandomResizedCrop(16), v1.RandomHorizontalFlip(), v1.ToTensor()])


def files_of(root):
    return sorted(os.path.relpath(path, root) for path in Path(root).rglob("*.jpg"))


class Joined(Dataset):
    """The common one: a folder, names, labels."""

    def __init__(self, root):
        self.root, self.names = str(root), files_of(root)
        self.labels = [int(name[5]) for name in self.names]
        self.transform = augment()

    def __len__(self):
        return len(self.names)

    def __getitem__(self, idx):
        path = os.path.join(self.root, self.names[idx])
        image = Image.open(path).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        label = self.labels[idx]
        return image, label


class Pairs(Joined):
    """Pairs of a path and a class's name."""

    def __init__(self, root):
        super().__init__(root)
        self.samples = [(name, name.split("/")[0]) for name in self.names]
        self.class_to_idx = {f"class{i}": i for i in range(10)}

    def __getitem__(self, idx):
        name, cls = self.samples[idx]
        with open(f"{self.root}/{name}", "rb") as file:
            image = Image.open(file).convert("RGB")
        return {"image": self.transform(image), "label": self.class_to_idx[cls]}


class Paths(Joined):
    """Paths of pathlib, and the picture alone."""

    def __init__(self, root):
        super().__init__(root)
        self.root = Path(root)
        self.ids = [name.removesuffix(".jpg") for name in self.names]

    def __getitem__(self, idx):
        with Image.open(self.root / (self.ids[idx] + ".jpg")) as image:
            return self.transform(image.convert("RGB"))


class Views(Joined):
    """Two views, by a method of its own."""

    def load(self, idx):
        return Image.open(Path(self.root) / self.names[idx]).convert("RGB")

    def __getitem__(self, idx):
        image = self.load(idx)
        return [self.transform(image) for _ in range(2)], self.labels[idx], idx % 2 * 0


class TwoViews(Views):
    def __getitem__(self, idx):
        image = self.load(idx)
        return self.labels[idx], [self.transform(image) for _ in range(2)]


class Indirect(Joined):
    """Its own order of the files."""

    def __init__(self, root):
        super().__init__(root)
        self.order = list(range(len(self.names)))[::-1]

    def __getitem__(self, idx):
        at = self.order[idx]
        image = datasets.folder.pil_loader(os.path.join(self.root, self.names[at]))
        return self.transform(image), self.labels[at]


class OfFolder(datasets.ImageFolder):
    """A class that derives from torchvision's."""

    def __init__(self, root):
        super().__init__(root, augment())

    def target(self, idx):
        return self.targets[idx]

    def __getitem__(self, idx):
        path, _ = self.samples[idx]
        return self.transform(self.loader(path)), self.target(idx)


NATIVE = {
    "joined": Joined,
    "pairs": Pairs,
    "paths": Paths,
    "two views": TwoViews,
    "indirect": Indirect,
    "of a folder": OfFolder,
}
