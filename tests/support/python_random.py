"""Programs of segmentation that draw from Python's random, as people write them."""

import random

import numpy as np
import torch
import torchvision.transforms.functional as TF
from PIL import Image
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from .segmentation import Pairs

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Both(Pairs):
    """One callable for both of a pair."""

    def __init__(self, root, transforms):
        super().__init__(root)
        self.transforms = transforms

    def __getitem__(self, idx):
        image = Image.open(self.images[idx]).convert("RGB")
        mask = Image.open(self.masks[idx])
        return self.transforms(image, mask)


# As in the references of torchvision.


def pad_if_smaller(img, size, fill=0):
    min_size = min(img.size)
    if min_size < size:
        ow, oh = img.size
        padh = size - oh if oh < size else 0
        padw = size - ow if ow < size else 0
        img = TF.pad(img, (0, 0, padw, padh), fill=fill)
    return img


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image, target):
        for t in self.transforms:
            image, target = t(image, target)
        return image, target


class RandomResize:
    def __init__(self, min_size, max_size=None):
        self.min_size = min_size
        self.max_size = min_size if max_size is None else max_size

    def __call__(self, image, target):
        size = random.randint(self.min_size, self.max_size)
        image = TF.resize(image, size, antialias=True)
        target = TF.resize(target, size, interpolation=v1.InterpolationMode.NEAREST)
        return image, target


class RandomHorizontalFlip:
    def __init__(self, flip_prob):
        self.flip_prob = flip_prob

    def __call__(self, image, target):
        if random.random() < self.flip_prob:
            image = TF.hflip(image)
            target = TF.hflip(target)
        return image, target


class RandomCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, image, target):
        image = pad_if_smaller(image, self.size)
        target = pad_if_smaller(target, self.size, fill=255)
        crop_params = v1.RandomCrop.get_params(image, (self.size, self.size))
        image = TF.crop(image, *crop_params)
        target = TF.crop(target, *crop_params)
        return image, target


class PILToTensor:
    def __call__(self, image, target):
        image = TF.pil_to_tensor(image)
        target = torch.as_tensor(np.array(target), dtype=torch.int64)
        return image, target


class ToDtype:
    def __init__(self, dtype, scale=False):
        self.dtype, self.scale = dtype, scale

    def __call__(self, image, target):
        if not self.scale:
            return image.to(dtype=self.dtype), target
        image = TF.convert_image_dtype(image, self.dtype)
        return image, target


class Normalize:
    def __call__(self, image, target):
        image = TF.normalize(image, mean=MEAN, std=STD)
        return image, target


def references(size=48, flip=0.5):
    """SegmentationPresetTrain."""
    return Compose(
        [
            RandomResize(size // 2, 2 * size),
            RandomHorizontalFlip(flip),
            RandomCrop(size),
            PILToTensor(),
            ToDtype(torch.float, scale=True),
            Normalize(),
        ]
    )


# Others' ways.


def ended(image, mask, size=40):
    image = TF.center_crop(image, [size, size])
    mask = TF.center_crop(mask, [size, size])
    return TF.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.int64)


def by_four_decisions(image, mask):
    if random.random() > 0.5:
        image, mask = TF.hflip(image), TF.hflip(mask)
    if not random.random() >= 0.4:
        image, mask = TF.vflip(image), TF.vflip(mask)
    if random.randint(0, 1):
        image = TF.hflip(image)
    if random.choice([True, False, False]):
        mask = TF.vflip(mask)
    return ended(image, mask)


def by_torch(image, mask):
    if torch.rand(1) > 0.5:
        image, mask = TF.hflip(image), TF.hflip(mask)
    if torch.rand(1).item() >= 0.3:
        image, mask = TF.vflip(image), TF.vflip(mask)
    return ended(image, mask)


def drawn_first(image, mask):
    turn, flip = random.uniform(-30, 30), random.random()
    image = TF.rotate(image, turn)
    mask = TF.rotate(mask, turn)
    if flip <= 0.5:
        image, mask = TF.hflip(image), TF.hflip(mask)
    return ended(image, mask)


def by_quarters(image, mask):
    angle = random.choice([0, 90, 180, 270])
    image = TF.rotate(image, angle, interpolation=v1.InterpolationMode.BILINEAR)
    mask = TF.rotate(mask, angle)
    return ended(image, mask)


def with_both_generators(image, mask):
    i, j, h, w = v1.RandomCrop.get_params(image, (36, 36))
    image, mask = TF.crop(image, i, j, h, w), TF.crop(mask, i, j, h, w)
    if random.random() < 0.5:
        image, mask = TF.hflip(image), TF.hflip(mask)
    if torch.rand(1) < 0.5:
        image, mask = TF.vflip(image), TF.vflip(mask)
    if random.randrange(0, 10, 3) == 3:
        image = TF.hflip(image)
    return ended(image, mask, 30)


class OfMasks(Both):
    """tv_tensors of arrays, and v2's transforms after a decision by random."""

    def __getitem__(self, idx):
        image = Image.open(self.images[idx]).convert("RGB")
        mask = tv_tensors.Mask(np.array(Image.open(self.masks[idx])))
        return self.transforms(image, mask)


class Photos(Pairs):
    """Pictures alone, and the number of each."""

    def __init__(self, root, transform):
        super().__init__(root, transform)

    def __getitem__(self, idx):
        return self.transform(Image.open(self.images[idx]).convert("RGB")), idx


def flipped(image):
    if random.random() < 0.5:
        image = TF.hflip(image)
    return image


def of_v1(*parts):
    return v1.Compose([v1.RandomResizedCrop(32), *parts, v1.ToTensor()])


JITTER = v1.ColorJitter(0.3, 0.3, 0.3)
NATIVE = {
    "references": lambda root: Both(root, references()),
    "references, large": lambda root: Both(root, references(100, 0.3)),
    "four decisions": lambda root: Both(root, by_four_decisions),
    "torch's number is larger": lambda root: Both(root, by_torch),
    "drawn first": lambda root: Both(root, drawn_first),
    "quarters": lambda root: Both(root, by_quarters),
    "both generators": lambda root: Both(root, with_both_generators),
    "alone": lambda root: Photos(root, v1.Compose([flipped, of_v1()])),
    "v1.RandomOrder": lambda root: Photos(
        root, of_v1(v1.RandomOrder([v1.RandomHorizontalFlip(), JITTER, v1.RandomGrayscale(0.3)]))
    ),
    "v1.RandomChoice": lambda root: Photos(
        root, of_v1(v1.RandomChoice([JITTER, v1.RandomVerticalFlip(0.6), v1.Grayscale(3)]))
    ),
    "v1.RandomChoice, weights": lambda root: Photos(
        root, of_v1(v1.RandomChoice([JITTER, v1.RandomRotation(20)], p=[0.2, 0.5]), flipped)
    ),
    "masks of arrays": lambda root: OfMasks(
        root,
        v2.Compose(
            [
                v2.ToImage(),
                v2.RandomResizedCrop((40, 36)),
                v2.RandomRotation(20, fill={tv_tensors.Mask: 255, "others": 0}),
                v2.RandomApply([v2.RandomHorizontalFlip(1)]),
                v2.ToDtype({tv_tensors.Mask: torch.int64, "others": None}),
            ]
        ),
    ),
}


# Programs that are drawn: steps in a row, each of which draws.

SIGNS = ("<", "<=", ">", ">=")


class Decides:
    """`if a number that is drawn is so to p`: flips both, or one of them."""

    def __init__(self, generator, sign, p, what):
        self.generator, self.sign, self.p, self.what = generator, sign, p, what

    def drawn(self):
        if self.generator == "torch":
            return torch.rand(1)
        if self.generator == "torch's item":
            return torch.rand(1).item()
        if self.generator == "uniform":
            return random.uniform(0, 1)
        return random.random()

    def holds(self, number):
        if self.sign == "<":
            return number < self.p
        if self.sign == "<=":
            return self.p >= number
        if self.sign == ">":
            return number > self.p
        return number >= self.p

    def __call__(self, image, mask):
        if self.holds(self.drawn()):
            if self.what != "mask":
                image = TF.hflip(image)
            if self.what != "image":
                mask = TF.vflip(mask)
        return image, mask


class Cases:
    def __init__(self, options, wanted):
        self.options, self.wanted = options, wanted

    def __call__(self, image, mask):
        if random.choice(self.options) == self.wanted:
            image, mask = TF.vflip(image), TF.vflip(mask)
        return image, mask


class Turns:
    def __init__(self, low, high, choices):
        self.low, self.high, self.choices = low, high, choices

    def __call__(self, image, mask):
        if self.choices:
            angle = random.choice(self.choices)
        else:
            angle = random.uniform(self.low, self.high)
        return TF.rotate(image, angle), TF.rotate(mask, angle, fill=3)


class DrawsAhead:
    """Two numbers, before either is used."""

    def __init__(self, sizes, p):
        self.sizes, self.p = sizes, p

    def __call__(self, image, mask):
        size = random.randrange(self.sizes[0], self.sizes[1])
        flip = random.random() > self.p
        image = TF.resize(image, size)
        mask = TF.resize(mask, [size for _ in range(1)][0], v1.InterpolationMode.NEAREST)
        if flip:
            image, mask = TF.hflip(image), TF.hflip(mask)
        return image, mask


class End:
    def __call__(self, image, mask):
        return ended(image, mask, 40)


def drawn_program(rng):
    """Of a numpy.random.Generator."""

    def step():
        kind = rng.integers(0, 7)
        p = float(rng.choice([0.5, 0.3, 0.1, float(rng.random()), 0.0, 1.0]))
        if kind < 3:
            of = str(rng.choice(["torch", "torch's item", "uniform", "random"]))
            sign = str(rng.choice(SIGNS))
            return Decides(of, sign, p, str(rng.choice(["both", "image", "mask"])))
        if kind == 3:
            options = [int(one) for one in rng.integers(0, 3, rng.integers(1, 5))]
            return Cases(options, int(rng.integers(0, 3)))
        if kind == 4:
            choices = [float(one) for one in rng.integers(-200, 400, rng.integers(0, 4))]
            return Turns(float(rng.integers(-90, 0)), float(rng.random() * 90), choices)
        low = int(rng.integers(30, 60))
        if kind == 5:
            return DrawsAhead((low, low + int(rng.integers(1, 40))), p)
        if rng.random() < 0.5:
            return RandomResize(low, low + int(rng.integers(0, 40)))
        return RandomCrop(int(rng.integers(30, 70)))

    return Compose([*(step() for _ in range(rng.integers(1, 7))), End()])
