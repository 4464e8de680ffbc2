"""Supervised training with three augmentations, a sampler that repeats pictures, and MixUp in the loop."""

import math
import random

import torch
from PIL import ImageFilter, ImageOps
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Sampler
from torchvision import datasets, transforms


class RepeatedSampler(Sampler):
    """Each picture three times in a row, of which one rank of three takes its share."""

    def __init__(self, dataset, repeats=3):
        self.dataset = dataset
        self.repeats = repeats
        self.epoch = 0
        self.total = int(math.ceil(len(dataset) / 32) * 32)

    def __iter__(self):
        g = torch.Generator()
        g.manual_seed(self.epoch)
        indices = torch.randperm(len(self.dataset), generator=g)
        indices = torch.repeat_interleave(indices, repeats=self.repeats).tolist()
        return iter(indices[: self.total])

    def __len__(self):
        return self.total

    def set_epoch(self, epoch):
        self.epoch = epoch


class OneOf:
    def __init__(self):
        self.sigma = (0.1, 2.0)

    def __call__(self, img):
        kind = random.randint(0, 2)
        if kind == 0:
            return img.filter(ImageFilter.GaussianBlur(radius=random.uniform(*self.sigma)))
        if kind == 1:
            return ImageOps.solarize(img)
        return transforms.functional.rgb_to_grayscale(img, num_output_channels=3)


def main():
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(8)
    transform = transforms.Compose(
        [
            transforms.Resize(192, interpolation=3),
            transforms.RandomCrop(192, padding=4, padding_mode="reflect"),
            transforms.RandomHorizontalFlip(),
            OneOf(),
            transforms.ColorJitter(0.3, 0.3, 0.3),
            transforms.ToTensor(),
            transforms.Normalize(
                mean=torch.tensor([0.485, 0.456, 0.406]), std=torch.tensor([0.229, 0.224, 0.225])
            ),
        ]
    )
    dataset = datasets.ImageFolder(f"{args.data}/photos", transform)
    sampler = RepeatedSampler(dataset)
    loader = DataLoader(dataset, args.batch_size, sampler=sampler, num_workers=args.workers)
    recorder = Recorder()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, _ in recorder.epoch(loader):
            share = random.betavariate(0.8, 0.8)
            images.mul_(share).add_(images.flip(0), alpha=1 - share)
    recorder.finish()


if __name__ == "__main__":
    main()
