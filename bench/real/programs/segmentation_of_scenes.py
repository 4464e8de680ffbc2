"""Segmentation with PIL: joint transforms of a picture and its mask, a dict of them, numpy at the end."""

import os
import random

import numpy as np
import torch
from PIL import Image, ImageFilter, ImageOps
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class RandomHorizontalFlip:
    def __call__(self, sample):
        img, mask = sample["image"], sample["label"]
        if random.random() < 0.5:
            img = img.transpose(Image.FLIP_LEFT_RIGHT)
            mask = mask.transpose(Image.FLIP_LEFT_RIGHT)
        return {"image": img, "label": mask}


class RandomScaleCrop:
    def __init__(self, base_size, crop_size, fill=0):
        self.base_size, self.crop_size, self.fill = base_size, crop_size, fill

    def __call__(self, sample):
        img, mask = sample["image"], sample["label"]
        short_size = random.randint(int(self.base_size * 0.5), int(self.base_size * 2.0))
        w, h = img.size
        ow, oh = (
            (int(w * short_size / h), short_size)
            if h < w
            else (short_size, int(h * short_size / w))
        )
        img = img.resize((ow, oh), Image.BILINEAR)
        mask = mask.resize((ow, oh), Image.NEAREST)
        if short_size < self.crop_size:
            padh, padw = max(self.crop_size - oh, 0), max(self.crop_size - ow, 0)
            img = ImageOps.expand(img, border=(0, 0, padw, padh), fill=0)
            mask = ImageOps.expand(mask, border=(0, 0, padw, padh), fill=self.fill)
        w, h = img.size
        x1, y1 = random.randint(0, w - self.crop_size), random.randint(0, h - self.crop_size)
        box = (x1, y1, x1 + self.crop_size, y1 + self.crop_size)
        return {"image": img.crop(box), "label": mask.crop(box)}


class RandomGaussianBlur:
    def __call__(self, sample):
        img = sample["image"]
        if random.random() < 0.5:
            img = img.filter(ImageFilter.GaussianBlur(radius=random.random()))
        return {"image": img, "label": sample["label"]}


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, sample):
        img = np.array(sample["image"]).astype(np.float32)
        mask = np.array(sample["label"]).astype(np.float32)
        img /= 255.0
        img -= self.mean
        img /= self.std
        return {"image": img, "label": mask}


class ToTensor:
    def __call__(self, sample):
        img = np.array(sample["image"]).astype(np.float32).transpose((2, 0, 1))
        mask = np.array(sample["label"]).astype(np.float32)
        return {"image": torch.from_numpy(img).float(), "label": torch.from_numpy(mask).float()}


class VOCSegmentation(Dataset):
    NUM_CLASSES = 21

    def __init__(self, base_dir, split="train"):
        self.split = split
        self.images, self.categories = [], []
        for label in sorted(os.listdir(f"{base_dir}/photos")):
            for name in sorted(os.listdir(f"{base_dir}/photos/{label}")):
                self.images.append(os.path.join(base_dir, "photos", label, name))
                self.categories.append(os.path.join(base_dir, "masks", f"{label}_{name[:-4]}.png"))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        sample = {
            "image": Image.open(self.images[index]).convert("RGB"),
            "label": Image.open(self.categories[index]),
        }
        if self.split == "train":
            return self.transform_tr(sample)
        return self.transform_val(sample)

    def transform_tr(self, sample):
        composed = transforms.Compose(
            [
                RandomHorizontalFlip(),
                RandomScaleCrop(base_size=288, crop_size=257),
                RandomGaussianBlur(),
                Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
                ToTensor(),
            ]
        )
        return composed(sample)


def main():
    args = parser(__doc__).parse_args()
    seed_all(1)
    train_set = VOCSegmentation(args.data)
    loader = DataLoader(
        train_set, batch_size=args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for sample in recorder.epoch(loader):
            assert sample["image"].shape[-1] == sample["label"].shape[-1]
    recorder.finish()


if __name__ == "__main__":
    main()
