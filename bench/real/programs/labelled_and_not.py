"""Semi-supervised: labelled and unlabelled loaders by iter and next, started anew when they end, weak and strong views."""

import itertools
import random

import numpy as np
import PIL.Image
import PIL.ImageDraw
import PIL.ImageEnhance
import PIL.ImageOps
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from torchvision import datasets, transforms

PARAMETER_MAX = 10


def _float(v, max_v):
    return float(v) * max_v / PARAMETER_MAX


def auto_contrast(img, **kwargs):
    return PIL.ImageOps.autocontrast(img)


def brightness(img, v, max_v, bias=0):
    return PIL.ImageEnhance.Brightness(img).enhance(_float(v, max_v) + bias)


def posterize(img, v, max_v, bias=0):
    return PIL.ImageOps.posterize(img, int(v * max_v / PARAMETER_MAX) + bias)


def rotate(img, v, max_v, bias=0):
    v = _float(v, max_v) + bias
    return img.rotate(-v if random.random() < 0.5 else v)


def shear_x(img, v, max_v, bias=0):
    v = _float(v, max_v) + bias
    return img.transform(
        img.size, PIL.Image.AFFINE, (1, -v if random.random() < 0.5 else v, 0, 0, 1, 0)
    )


def cutout_abs(img, v):
    w, h = img.size
    x0, y0 = np.random.uniform(0, w), np.random.uniform(0, h)
    x0, y0 = int(max(0, x0 - v / 2.0)), int(max(0, y0 - v / 2.0))
    img = img.copy()
    PIL.ImageDraw.Draw(img).rectangle(
        (x0, y0, int(min(w, x0 + v)), int(min(h, y0 + v))), (127, 127, 127)
    )
    return img


POOL = [
    (auto_contrast, None, None),
    (brightness, 0.9, 0.05),
    (posterize, 4, 4),
    (rotate, 30, 0),
    (shear_x, 0.3, 0),
]


class RandAugmentMC:
    def __init__(self, n, m):
        self.n, self.m = n, m

    def __call__(self, img):
        for op, max_v, bias in random.choices(POOL, k=self.n):
            v = np.random.randint(1, self.m)
            if random.random() < 0.5:
                img = op(img, v=v, max_v=max_v, bias=bias)
        return cutout_abs(img, int(96 * 0.5))


class TransformFixMatch:
    def __init__(self, mean, std):
        flip_and_crop = [
            transforms.RandomHorizontalFlip(),
            transforms.RandomCrop(96, padding=12, padding_mode="reflect"),
        ]
        self.weak = transforms.Compose(flip_and_crop)
        self.strong = transforms.Compose([*flip_and_crop, RandAugmentMC(n=2, m=10)])
        self.normalize = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize(mean=mean, std=std)]
        )

    def __call__(self, x):
        return self.normalize(self.weak(x)), self.normalize(self.strong(x))


class SSL(datasets.ImageFolder):
    def __init__(self, root, indexs, transform):
        super().__init__(root, transform=transform)
        self.samples = [self.samples[i] for i in indexs]
        self.small = [np.asarray(self.loader(p).resize((96, 96))) for p, _ in self.samples]

    def __getitem__(self, index):
        img = PIL.Image.fromarray(self.small[index])
        return self.transform(img), self.samples[index][1]


if __name__ == "__main__":
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(33)
    mean = std = (0.5, 0.5, 0.5)
    labelled_transform = transforms.Compose(
        [
            transforms.RandomHorizontalFlip(),
            transforms.RandomCrop(96, padding=12),
            transforms.ToTensor(),
        ]
    )
    count = len(datasets.ImageFolder(f"{args.data}/photos"))
    chosen = np.array_split(np.random.permutation(count)[:120], 6)
    labelled, unlabelled = (
        SSL(f"{args.data}/photos", chosen[0], labelled_transform),
        SSL(f"{args.data}/photos", np.concatenate(chosen[1:5]), TransformFixMatch(mean, std)),
    )
    labelled_loader = DataLoader(
        labelled,
        sampler=RandomSampler(labelled),
        batch_size=args.batch_size,
        num_workers=args.workers,
        drop_last=True,
    )
    unlabelled_loader = DataLoader(
        unlabelled,
        sampler=RandomSampler(unlabelled),
        batch_size=args.batch_size * 3,
        num_workers=args.workers,
        drop_last=True,
    )
    test_loader = DataLoader(
        SSL(f"{args.data}/photos", chosen[5], transforms.ToTensor()),
        sampler=SequentialSampler(chosen[5]),
        batch_size=8,
        num_workers=args.workers,
    )
    recorder = Recorder()

    def steps(labelled_iter, unlabelled_iter, count):
        for _ in range(count):
            try:
                one = next(labelled_iter[0])
            except StopIteration:
                labelled_iter[0] = iter(labelled_loader)
                one = next(labelled_iter[0])
            try:
                (weak, strong), _ = next(unlabelled_iter[0])
            except StopIteration:
                unlabelled_iter[0] = iter(unlabelled_loader)
                (weak, strong), _ = next(unlabelled_iter[0])
            yield one, weak, strong

    iters = [iter(labelled_loader)], [iter(unlabelled_loader)]
    for _ in range(args.epochs):
        for _ in recorder.epoch(itertools.chain(steps(*iters, 9), test_loader)):
            pass
    recorder.finish()
