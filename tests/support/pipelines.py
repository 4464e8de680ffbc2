"""Transforms and user code that several tests use. Importable, as a program's own module is."""

import random
from collections import namedtuple
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def train_v1() -> Any:
    return v1.Compose(
        [
            v1.RandomResizedCrop(32),
            v1.RandomHorizontalFlip(),
            v1.ToTensor(),
            v1.Normalize(MEAN, STD),
        ]
    )


def train_v2() -> Any:
    return v2.Compose(
        [
            v2.RandomResizedCrop(32),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


def train_tensors(api: int = 2) -> Any:
    """The transforms of tensors, as torchvision recommends them."""
    if api == 1:
        return v1.Compose(
            [
                v1.PILToTensor(),
                v1.RandomResizedCrop(32, antialias=True),
                v1.RandomHorizontalFlip(),
                v1.ConvertImageDtype(torch.float32),
                v1.Normalize(MEAN, STD),
            ]
        )
    return v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(32, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(MEAN, STD),
        ]
    )


def evaluate_tensors() -> Any:
    to_float = v2.ToDtype(torch.float32, scale=True)
    return v2.Compose([v2.PILToTensor(), v2.Resize(40), v2.CenterCrop(32), to_float])


def evaluate_v1() -> Any:
    return v1.Compose([v1.Resize(40), v1.CenterCrop(32), v1.ToTensor(), v1.Normalize(MEAN, STD)])


def reference_on_tensors(policy: str, api: int) -> Any:
    """torchvision's classification preset for training, with its tensor backend."""
    lib = (v1, v2)[api]
    mode = InterpolationMode.BILINEAR
    policies = {
        "ra": lambda: lib.RandAugment(interpolation=mode, magnitude=9),
        "ta_wide": lambda: lib.TrivialAugmentWide(interpolation=mode),
        "augmix": lambda: lib.AugMix(interpolation=mode, severity=3),
        "imagenet": lambda: lib.AutoAugment(v1.AutoAugmentPolicy.IMAGENET, mode),
        "jitter": lambda: lib.ColorJitter(0.4, 0.4, 0.4, 0.1),
    }
    to_float = v2.ToDtype(torch.float, scale=True) if api else v1.ConvertImageDtype(torch.float)
    return lib.Compose(
        [
            v2.ToImage() if api else v1.PILToTensor(),
            lib.RandomResizedCrop(32, interpolation=mode, antialias=True),
            lib.RandomHorizontalFlip(0.5),
            policies[policy](),
            to_float,
            lib.Normalize(MEAN, STD),
            lib.RandomErasing(p=0.1),
            *([v2.ToPureTensor()] if api else []),
        ]
    )


# operator -> the transforms that it is.
EVERY = {
    "resize": (v1.Resize(40), v2.Resize(40)),
    "center_crop": (v1.CenterCrop(30), v2.CenterCrop(30)),
    "random_resized_crop": (v1.RandomResizedCrop(30), v2.RandomResizedCrop(30)),
    "random_crop": (v1.RandomCrop(30, 4), v2.RandomCrop(30, 4)),
    "pad": (v1.Pad(3, (9, 8, 7)), v2.Pad((1, 2), padding_mode="reflect")),
    "random_grayscale": (v1.RandomGrayscale(0.5), v2.RandomGrayscale(0.5)),
    "random_horizontal_flip": (v1.RandomHorizontalFlip(), v2.RandomHorizontalFlip()),
    "random_vertical_flip": (v1.RandomVerticalFlip(), v2.RandomVerticalFlip()),
    "color_jitter": (v1.ColorJitter(0.1, 0.2, 0.3, 0.1), v2.ColorJitter(0.1, 0.2, 0.3, 0.1)),
    "trivial_augment_wide": (v1.TrivialAugmentWide(), v2.TrivialAugmentWide()),
    "rand_augment": (v1.RandAugment(), v2.RandAugment(interpolation="bilinear", fill=(9, 8, 7))),
    "auto_augment": (v1.AutoAugment(), v2.AutoAugment()),
    "aug_mix": (v1.AugMix(), v2.AugMix(fill=7)),
    "random_rotation": (v1.RandomRotation(30), v2.RandomRotation((5, 90), "bilinear")),
    "random_affine": (v1.RandomAffine(10, (0.1, 0.2)), v2.RandomAffine(5, scale=(0.7, 1.2))),
    "random_operation": (v1.RandomPosterize(3), v2.RandomEqualize()),
    "grayscale": (v1.Grayscale(3), v2.Grayscale(3)),
    "random_erasing": (v1.RandomErasing(), v2.RandomErasing()),
    "pil_to_tensor": (v1.PILToTensor(), v2.PILToTensor()),
    "normalize": (v1.Normalize(MEAN, STD), v2.Normalize(MEAN, STD)),
    "to_image": (v2.ToImage(), v2.ToImage()),
    "to_dtype": (v1.ConvertImageDtype(torch.float16), v2.ToDtype(torch.float32, scale=True)),
}
ON_TENSORS = {"random_erasing", "normalize", "to_dtype"}


def chain_with(op: str, api: int) -> Any:
    """A pipeline around EVERY[op][api] whose batches have one size."""
    transform = EVERY[op][api]
    to_float = [v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)]
    resize = v1.Resize((44, 40))
    if op == "to_dtype":
        return v1.Compose([resize, v1.PILToTensor(), transform])
    if op in ("to_image", "pil_to_tensor"):
        return v1.Compose([resize, transform])
    if op in ON_TENSORS:
        return v1.Compose([resize, *to_float, transform])
    return v1.Compose([transform, resize, *to_float])


# The part of EVERY that stays on uint8 tensors.
OF_TENSORS = set(EVERY) - {"pil_to_tensor"} - ON_TENSORS


def chain_on_tensors(op: str, api: int) -> Any:
    """The same after a transform that makes a tensor of uint8."""
    first = (v1.PILToTensor(), v2.ToImage())[api]
    transform = EVERY[op][api]
    if op == "pad" and api == 0:
        transform = v1.Pad(3, 9)  # v1 pads tensors with one number only
    size, to_float = v1.CenterCrop((44, 40)), v1.ConvertImageDtype(torch.float32)
    return v1.Compose([first, transform, size, to_float])


def nested() -> dict[str, Any]:
    """Containers of every kind, with something in the middle that is Python."""
    jitter = v1.ColorJitter(0.4, 0.4, 0.4, 0.1)
    return {
        "simclr": v1.Compose(
            [
                v1.RandomResizedCrop(32),
                v1.RandomHorizontalFlip(),
                v1.RandomApply([jitter], p=0.6),
                v1.RandomGrayscale(0.4),
                v1.GaussianBlur(3),
                v1.ToTensor(),
                v1.Normalize(MEAN, STD),
            ]
        ),
        "v2 containers": v2.Compose(
            [
                v2.RandomChoice([v2.RandomPosterize(3), v2.RandAugment(), v2.GaussianBlur(3)]),
                v2.RandomOrder([v2.ColorJitter(0.2), v2.RandomSolarize(99), v2.RandomInvert()]),
                v2.RandomApply([v2.Compose([v2.RandomRotation(20), v2.RandomEqualize()])]),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(MEAN, STD),
            ]
        ),
        "v1 containers": v1.Compose(
            [
                v1.RandomChoice([v1.RandomPosterize(3), v1.RandAugment()], p=[0.3, 0.7]),
                v1.RandomOrder([v1.ColorJitter(0.2), v1.RandomSolarize(99), v1.RandomInvert()]),
                v1.RandomApply(nn.ModuleList([v1.TrivialAugmentWide()])),
                v1.Lambda(lambda image: image.rotate(3)),
                v1.Compose([v1.CenterCrop(30), v1.PILToTensor()]),
                v1.ConvertImageDtype(torch.float32),
                v1.RandomErasing(0.7),
            ]
        ),
        "tensors behind": v1.Compose(
            [v1.Resize(33), v1.RandomAutocontrast(), v1.ToTensor(), v1.Lambda(lambda t: t * 2)]
        ),
        "part of a tensor": v1.Compose([v1.PILToTensor(), v1.Resize(40), v1.CenterCrop(32)]),
        "images": v1.Compose([v1.RandomCrop(30, 4), v1.ColorJitter(0.3), v1.RandAugment()]),
        "tensors": train_tensors(),
        "validation by tensors": evaluate_tensors(),
        "gray": v1.Compose([v1.Grayscale(), v1.Resize(20), v1.ToTensor()]),
        "sequential": v2.Compose(
            [nn.Sequential(v1.CenterCrop(30), v1.ColorJitter(0.3)), v2.PILToTensor()]
        ),
        "half": v2.Compose([v2.CenterCrop(20), v2.ToImage(), v2.ToDtype(torch.float16, True)]),
    }


Point = namedtuple("Point", ["x", "y"])


class Numbers(Dataset):
    """A user's own dataset: rows that draw from every generator a worker has."""

    def __init__(self, count: int = 20) -> None:
        self.count = count
        self.epoch = 0

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {
            "index": index,
            "draws": torch.tensor([torch.rand(1).item(), random.random(), np.random.rand()]),
            "point": Point(index * 0.5, [index, -index]),
            "name": f"row {index}",
            "epoch": self.epoch,
        }


class Failing(Numbers):
    """Raises at one row."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == 7:
            raise FailedRow(f"row {index} is bad")
        return super().__getitem__(index)


class FailedRow(Exception):
    pass


class NeedsTwoArguments(Exception):
    """Cannot be rebuilt from one message."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(what, code)


def collate_names(samples: list[dict[str, Any]]) -> list[str]:
    return [sample["name"] for sample in samples]


def seed_other_generators(worker: int) -> None:
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def seed_torch(worker: int) -> None:
    torch.manual_seed(1000 + worker)
