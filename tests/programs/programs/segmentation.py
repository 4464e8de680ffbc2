"""Segmentation: masks as tv_tensors under v2 transforms, pairs flipped and cut by hand, and the same with
noise by NumPy."""

import os
import random
import sys

import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image
from told import tell
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, RandomCrop, v2


class Pairs(Dataset):
    """images/NAME.jpg with masks/NAME.png."""

    def __init__(self, root, transforms):
        self.root, self.transforms = root, transforms
        self.names = sorted(name[:-4] for name in os.listdir(os.path.join(root, "images")))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, idx):
        name = self.names[idx]
        image = Image.open(os.path.join(self.root, "images", f"{name}.jpg")).convert("RGB")
        mask = Image.open(os.path.join(self.root, "masks", f"{name}.png"))
        return self.transforms(image, mask)


class ByV2:
    def __init__(self, size):
        self.steps = v2.Compose(
            [
                v2.RandomResize(size, 2 * size),
                v2.RandomHorizontalFlip(),
                v2.RandomCrop(size, pad_if_needed=True),
                v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
                v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            ]
        )

    def __call__(self, image, mask):
        return self.steps(tv_tensors.Image(F.pil_to_tensor(image)), tv_tensors.Mask(mask))


class ByHand:
    """One draw for both of a pair."""

    def __init__(self, size):
        self.size = size

    def pad(self, image, fill=0):
        if min(image.size) < self.size:
            width, height = image.size
            across = self.size - width if width < self.size else 0
            down = self.size - height if height < self.size else 0
            image = F.pad(image, (0, 0, across, down), fill=fill)
        return image

    def __call__(self, image, mask):
        length = random.randint(self.size // 2, 2 * self.size)
        image = F.resize(image, length)
        mask = F.resize(mask, length, interpolation=InterpolationMode.NEAREST)
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        image, mask = self.pad(image), self.pad(mask, fill=255)
        place = RandomCrop.get_params(image, (self.size, self.size))
        image, mask = F.crop(image, *place), F.crop(mask, *place)
        return F.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.int64)


class WithNumPy:
    """Brightness by NumPy's generator."""

    def __init__(self, size):
        self.size = size

    def __call__(self, image, mask):
        if random.random() < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        if np.random.rand() < 0.3:
            image = F.adjust_brightness(image, 1 + 0.2 * np.random.randn())
        place = RandomCrop.get_params(image, (self.size, self.size))
        image, mask = F.crop(image, *place), F.crop(mask, *place)
        return F.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.int64)


def main(root):
    torch.manual_seed(5)
    for name, transforms in (
        ("v2", ByV2(32)),
        ("by hand", ByHand(32)),
        ("with NumPy", WithNumPy(32)),
    ):
        loader = DataLoader(Pairs(root, transforms), batch_size=4, shuffle=True, num_workers=2)
        for epoch in range(2):
            for step, (images, masks) in enumerate(loader):
                tell((name, epoch, step), len(images), (images, masks))


if __name__ == "__main__":
    main(sys.argv[1])
