"""Self-distillation without labels: two large crops and six small ones of each picture, blur, solarise."""

import random

import torch
from PIL import ImageFilter, ImageOps
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
from torchvision.transforms import InterpolationMode


class GaussianBlur:
    def __init__(self, p=0.5, radius_min=0.1, radius_max=2.0):
        self.prob = p
        self.radius_min = radius_min
        self.radius_max = radius_max

    def __call__(self, img):
        if random.random() > self.prob:
            return img
        radius = random.uniform(self.radius_min, self.radius_max)
        return img.filter(ImageFilter.GaussianBlur(radius=radius))


class Solarization:
    def __init__(self, p):
        self.p = p

    def __call__(self, img):
        return ImageOps.solarize(img) if random.random() < self.p else img


class MultiCrop:
    def __init__(self, global_scale, local_scale, local_count):
        flip_and_colour = transforms.Compose(
            [
                transforms.RandomHorizontalFlip(p=0.5),
                transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
                transforms.RandomGrayscale(p=0.2),
            ]
        )
        normalize = transforms.Compose(
            [
                transforms.ToTensor(),
                transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ]
        )

        def crop(size, scale):
            return transforms.RandomResizedCrop(
                size, scale=scale, interpolation=InterpolationMode.BICUBIC
            )

        self.first = transforms.Compose(
            [crop(224, global_scale), flip_and_colour, GaussianBlur(1.0), normalize]
        )
        self.second = transforms.Compose(
            [
                crop(224, global_scale),
                flip_and_colour,
                GaussianBlur(0.1),
                Solarization(0.2),
                normalize,
            ]
        )
        self.local_count = local_count
        self.local = transforms.Compose(
            [crop(96, local_scale), flip_and_colour, GaussianBlur(0.5), normalize]
        )

    def __call__(self, image):
        crops = [self.first(image), self.second(image)]
        for _ in range(self.local_count):
            crops.append(self.local(image))
        return crops


def main():
    options = parser(__doc__)
    options.add_argument("--local-crops", type=int, default=6)
    args = options.parse_args()
    seed_all(0)
    augment = MultiCrop((0.4, 1.0), (0.05, 0.4), args.local_crops)
    dataset = datasets.ImageFolder(f"{args.data}/photos", transform=augment)
    loader = DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, _ in recorder.epoch(loader):
            assert len(images) == 2 + args.local_crops and images[0].dtype == torch.float32
    recorder.finish()


if __name__ == "__main__":
    main()
