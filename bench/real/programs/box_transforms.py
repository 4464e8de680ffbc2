"""Transforms of a picture and its boxes, for set_prediction_detection.py."""

import random

import torch
import torchvision.transforms as T
import torchvision.transforms.functional as F


def crop(image, target, region):
    cropped = F.crop(image, *region)
    i, j, h, w = region
    target = {**target, "size": torch.tensor([h, w])}
    boxes = target["boxes"] - torch.as_tensor([j, i, j, i])
    boxes = torch.min(boxes.reshape(-1, 2, 2), torch.as_tensor([w, h], dtype=torch.float32)).clamp(
        min=0
    )
    target["area"] = (boxes[:, 1, :] - boxes[:, 0, :]).prod(dim=1)
    target["boxes"] = boxes.reshape(-1, 4)
    keep = torch.all(boxes[:, 1, :] > boxes[:, 0, :], dim=1)
    for field in ("labels", "area", "boxes"):
        target[field] = target[field][keep]
    return cropped, target


def resize(image, target, size, max_size=None):
    w, h = image.size
    if max_size is not None:
        short, long = float(min(w, h)), float(max(w, h))
        if long / short * size > max_size:
            size = int(round(max_size * short / long))
    new = (int(size * h / w), size) if w < h else (size, int(size * w / h))
    rescaled = F.resize(image, new)
    ratios = [float(s) / float(o) for s, o in zip(rescaled.size, image.size, strict=True)]
    target = target.copy()
    target["boxes"] = target["boxes"] * torch.as_tensor([*ratios, *ratios])
    target["area"] = target["area"] * (ratios[0] * ratios[1])
    target["size"] = torch.tensor(new)
    return rescaled, target


class RandomHorizontalFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, img, target):
        if random.random() < self.p:
            w, _ = img.size
            boxes = target["boxes"][:, [2, 1, 0, 3]] * torch.as_tensor([-1, 1, -1, 1])
            return F.hflip(img), {**target, "boxes": boxes + torch.as_tensor([w, 0, w, 0])}
        return img, target


class RandomResize:
    def __init__(self, sizes, max_size=None):
        self.sizes = sizes
        self.max_size = max_size

    def __call__(self, img, target):
        return resize(img, target, random.choice(self.sizes), self.max_size)


class RandomSizeCrop:
    def __init__(self, min_size, max_size):
        self.min_size = min_size
        self.max_size = max_size

    def __call__(self, img, target):
        w = random.randint(self.min_size, min(img.width, self.max_size))
        h = random.randint(self.min_size, min(img.height, self.max_size))
        return crop(img, target, T.RandomCrop.get_params(img, [h, w]))


class Normalize:
    def __init__(self, normalize):
        self.normalize = normalize

    def __call__(self, image, target):
        image = self.normalize(image)
        h, w = image.shape[-2:]
        boxes = target["boxes"]
        boxes = torch.cat([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1)
        return image, {**target, "boxes": boxes / torch.tensor([w, h, w, h], dtype=torch.float32)}


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image, target):
        for t in self.transforms:
            image, target = t(image, target)
        return image, target
