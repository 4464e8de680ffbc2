"""The recipes of albumentations for classification, segmentation and detection.

Its transforms draw from generators of their own, which each worker goes on with from where the
program left them.
"""

import glob
import sys

import albumentations as A
import cv2
import numpy as np
import torch
from albumentations.pytorch import ToTensorV2
from told import tell
from torch.utils.data import DataLoader, Dataset


class Photos(Dataset):
    def __init__(self, root, transform):
        self.files, self.transform = sorted(glob.glob(f"{root}/*/*.jpg")), transform

    def __len__(self):
        return len(self.files)

    def read(self, i):
        return cv2.cvtColor(cv2.imread(self.files[i]), cv2.COLOR_BGR2RGB)


class Classes(Photos):
    def __getitem__(self, i):
        return self.transform(image=self.read(i))["image"], i % 3


class Masks(Photos):
    def __getitem__(self, i):
        image = self.read(i)
        made = self.transform(image=image, mask=(image[..., 0] > 127).astype(np.uint8))
        return made["image"], made["mask"].long()


class Boxes(Photos):
    def __getitem__(self, i):
        image = self.read(i)
        height, width = image.shape[:2]
        boxes = [[0, 0, width // 2, height // 2], [width // 3, height // 3, width, height]]
        made = self.transform(image=image, bboxes=boxes, labels=[1, 2])
        return made["image"], torch.tensor(np.array(made["bboxes"])), made["labels"]


def recipes():
    end = [A.Normalize(), ToTensorV2()]
    yield (
        Classes,
        A.Compose(
            [
                A.RandomResizedCrop(size=(32, 32), scale=(0.3, 1.0)),
                A.HorizontalFlip(p=0.5),
                A.ColorJitter(p=0.8),
                A.CoarseDropout(p=0.5),
                *end,
            ],
            seed=137,
        ),
    )
    yield (
        Masks,
        A.Compose(
            [
                A.PadIfNeeded(96, 96),
                A.RandomCrop(48, 48),
                A.Affine(rotate=(-20, 20), p=0.7),
                A.OneOf([A.GaussianBlur(), A.GaussNoise()], p=0.5),
                *end,
            ],
            seed=138,
        ),
    )
    yield (
        Boxes,
        A.Compose(
            [
                A.RandomBrightnessContrast(p=0.5),
                A.HorizontalFlip(p=0.5),
                A.Resize(48, 48),
                *end,
            ],
            bbox_params=A.BboxParams(format="pascal_voc", label_fields=["labels"]),
            seed=139,
        ),
    )


def collate_fn(batch):
    return list(zip(*batch, strict=True))


def main(root):
    cv2.setNumThreads(0)
    torch.manual_seed(4)
    for kind, transform in recipes():
        data = kind(root, transform)
        loader = DataLoader(
            data,
            batch_size=4,
            shuffle=True,
            num_workers=2,
            persistent_workers=kind is Masks,
            collate_fn=collate_fn if kind is Boxes else None,
        )
        for epoch in range(2):
            for step, batch in enumerate(loader):
                tell((kind.__name__, epoch, step), len(batch[0]), batch)


if __name__ == "__main__":
    main(sys.argv[1])
