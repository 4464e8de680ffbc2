"""Redundancy reduction: a class that holds two pipelines, one with more blur, one with solarisation."""

import random

import torchvision
from PIL import Image, ImageFilter, ImageOps
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader
from torchvision import transforms

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


class GaussianBlur:
    def __init__(self, p):
        self.p = p

    def __call__(self, img):
        if random.random() < self.p:
            sigma = random.random() * 1.9 + 0.1
            return img.filter(ImageFilter.GaussianBlur(sigma))
        else:
            return img


class Solarization:
    def __init__(self, p):
        self.p = p

    def __call__(self, img):
        if random.random() < self.p:
            return ImageOps.solarize(img)
        else:
            return img


class Transform:
    def __init__(self):
        self.transform = self.build(blur=1.0, solarize=0.0)
        self.transform_prime = self.build(blur=0.1, solarize=0.2)

    def build(self, blur, solarize):
        return transforms.Compose(
            [
                transforms.RandomResizedCrop(224, interpolation=Image.BICUBIC),
                transforms.RandomHorizontalFlip(p=0.5),
                transforms.RandomApply(
                    [transforms.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)],
                    p=0.8,
                ),
                transforms.RandomGrayscale(p=0.2),
                GaussianBlur(p=blur),
                Solarization(p=solarize),
                transforms.ToTensor(),
                transforms.Normalize(mean=MEAN, std=STD),
            ]
        )

    def __call__(self, x):
        y1 = self.transform(x)
        y2 = self.transform_prime(x)
        return y1, y2


def main():
    args = parser(__doc__).parse_args()
    seed_all(5)
    dataset = torchvision.datasets.ImageFolder(f"{args.data}/photos", Transform())
    loader = DataLoader(dataset, args.batch_size, shuffle=True, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for (y1, y2), _ in recorder.epoch(loader):
            assert y1.shape == y2.shape
    recorder.finish()


if __name__ == "__main__":
    main()
