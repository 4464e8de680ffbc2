"""Recipes of classification.py: a class around a Compose, as references and many projects have it."""

import torch
import torchvision.transforms
import torchvision.transforms.v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def module(use_v2):
    return torchvision.transforms.v2 if use_v2 else torchvision.transforms


def to_float(use_v2):
    if use_v2:
        return torchvision.transforms.v2.ToDtype(torch.float, scale=True)
    return torchvision.transforms.ConvertImageDtype(torch.float)


class Train:
    def __init__(self, size, policy, erase, use_v2):
        T = module(use_v2)
        steps = [T.RandomResizedCrop(size, antialias=True), T.RandomHorizontalFlip(0.5)]
        if policy == "ra":
            steps.append(T.RandAugment(magnitude=9))
        elif policy == "ta_wide":
            steps.append(T.TrivialAugmentWide())
        steps += [T.PILToTensor(), to_float(use_v2), T.Normalize(mean=MEAN, std=STD)]
        if erase > 0:
            steps.append(T.RandomErasing(p=erase))
        if use_v2:
            steps.append(T.ToPureTensor())
        self.transforms = T.Compose(steps)

    def __call__(self, img):
        return self.transforms(img)


class Check:
    def __init__(self, size, use_v2):
        T = module(use_v2)
        steps = [T.Resize(size + 8, antialias=True), T.CenterCrop(size), T.PILToTensor()]
        steps += [to_float(use_v2), T.Normalize(mean=MEAN, std=STD)]
        if use_v2:
            steps.append(T.ToPureTensor())
        self.transforms = T.Compose(steps)

    def __call__(self, img):
        return self.transforms(img)
