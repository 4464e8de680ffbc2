"""Momentum contrast: two random views of each picture of a folder, by a transform of transforms."""

import random

import torchvision.datasets as datasets
import torchvision.transforms as transforms
from PIL import ImageFilter
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader


class TwoCropsTransform:
    """Take two random crops of one image as the query and key."""

    def __init__(self, base_transform):
        self.base_transform = base_transform

    def __call__(self, x):
        q = self.base_transform(x)
        k = self.base_transform(x)
        return [q, k]


class GaussianBlur:
    def __init__(self, sigma=(0.1, 2.0)):
        self.sigma = sigma

    def __call__(self, x):
        sigma = random.uniform(self.sigma[0], self.sigma[1])
        return x.filter(ImageFilter.GaussianBlur(radius=sigma))


def main():
    args = parser(__doc__, batch_size=24).parse_args()
    seed_all(2)
    normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    augmentation = [
        transforms.RandomResizedCrop(224, scale=(0.2, 1.0)),
        transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        transforms.RandomGrayscale(p=0.2),
        transforms.RandomApply([GaussianBlur([0.1, 2.0])], p=0.5),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        normalize,
    ]
    train_dataset = datasets.ImageFolder(
        f"{args.data}/photos", TwoCropsTransform(transforms.Compose(augmentation))
    )
    train_loader = DataLoader(
        train_dataset,
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        drop_last=True,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, _ in recorder.epoch(train_loader):
            assert images[0].shape == images[1].shape
    recorder.finish()


if __name__ == "__main__":
    main()
