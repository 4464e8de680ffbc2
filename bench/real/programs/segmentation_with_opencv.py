"""Segmentation with OpenCV: random scale, crop, rotation, blur and flip of a picture and its labels."""

import collections.abc
import json
import random

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class Compose:
    def __init__(self, segtransform):
        self.segtransform = segtransform

    def __call__(self, image, label):
        for t in self.segtransform:
            image, label = t(image, label)
        return image, label


class RandScale:
    def __init__(self, scale):
        assert isinstance(scale, collections.abc.Iterable) and len(scale) == 2
        self.scale = scale

    def __call__(self, image, label):
        s = self.scale[0] + (self.scale[1] - self.scale[0]) * random.random()
        image = cv2.resize(image, None, fx=s, fy=s, interpolation=cv2.INTER_LINEAR)
        label = cv2.resize(label, None, fx=s, fy=s, interpolation=cv2.INTER_NEAREST)
        return image, label


class RandRotate:
    def __init__(self, rotate, padding, ignore_label=255, p=0.5):
        self.rotate, self.padding, self.ignore_label, self.p = rotate, padding, ignore_label, p

    def __call__(self, image, label):
        if random.random() < self.p:
            angle = self.rotate[0] + (self.rotate[1] - self.rotate[0]) * random.random()
            h, w = label.shape
            matrix = cv2.getRotationMatrix2D((w / 2, h / 2), angle, 1)
            image = cv2.warpAffine(
                image, matrix, (w, h), flags=cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_CONSTANT, borderValue=self.padding,
            )  # fmt: skip
            label = cv2.warpAffine(
                label, matrix, (w, h), flags=cv2.INTER_NEAREST,
                borderMode=cv2.BORDER_CONSTANT, borderValue=self.ignore_label,
            )  # fmt: skip
        return image, label


class RandomGaussianBlur:
    def __init__(self, radius=5):
        self.radius = radius

    def __call__(self, image, label):
        if random.random() < 0.5:
            image = cv2.GaussianBlur(image, (self.radius, self.radius), 0)
        return image, label


class RandomFlip:
    def __call__(self, image, label):
        if random.random() < 0.5:
            image, label = cv2.flip(image, 1), cv2.flip(label, 1)
        return image, label


class Crop:
    def __init__(self, size, padding, ignore_label=255):
        self.size, self.padding, self.ignore_label = size, padding, ignore_label

    def __call__(self, image, label):
        h, w = label.shape
        ph, pw = max(self.size - h, 0), max(self.size - w, 0)
        if ph > 0 or pw > 0:
            border = (ph // 2, ph - ph // 2, pw // 2, pw - pw // 2, cv2.BORDER_CONSTANT)
            image = cv2.copyMakeBorder(image, *border, value=self.padding)
            label = cv2.copyMakeBorder(label, *border, value=self.ignore_label)
        h, w = label.shape
        top, left = random.randint(0, h - self.size), random.randint(0, w - self.size)
        part = (slice(top, top + self.size), slice(left, left + self.size))
        return image[part], label[part]


class ToTensorNormalized:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, image, label):
        image = torch.from_numpy(image.transpose((2, 0, 1))).float()
        label = torch.from_numpy(label).long()
        for t, m, s in zip(image, self.mean, self.std, strict=True):
            t.sub_(m).div_(s)
        return image, label


class SemData(Dataset):
    def __init__(self, root, transform):
        self.pairs = [
            (f"{root}/{n['file']}", f"{root}/masks/{n['stem']}.png")
            for n in json.load(open(f"{root}/notes.json"))
        ]
        self.transform = transform

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        image_path, label_path = self.pairs[index]
        image = cv2.cvtColor(cv2.imread(image_path, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        image = np.float32(image)
        label = cv2.imread(label_path, cv2.IMREAD_GRAYSCALE)
        if image.shape[:2] != label.shape[:2]:
            raise RuntimeError("Image & label shape mismatch: " + image_path)
        return self.transform(image, label)


if __name__ == "__main__":
    cv2.ocl.setUseOpenCL(False)
    cv2.setNumThreads(0)
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(12)
    mean, std = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
    transform = Compose(
        [RandScale([0.5, 2]), RandRotate([-10, 10], padding=mean), RandomGaussianBlur(), RandomFlip(),
         Crop(321, mean), ToTensorNormalized(mean, std)]
    )  # fmt: skip
    loader = DataLoader(
        SemData(args.data, transform), args.batch_size, True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(loader):
            pass
    recorder.finish()
