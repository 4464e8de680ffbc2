"""Retrieval: an anchor, one of its class and one of another, read through a loader with retries."""

import collections
import os
import random
import time

import torch
from PIL import Image, ImageFile
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

ImageFile.LOAD_TRUNCATED_IMAGES = True


def default_image_loader(path, retries=2):
    for attempt in range(retries + 1):
        try:
            return Image.open(path).convert("RGB")
        except OSError:
            if attempt == retries:
                raise
            time.sleep(0.01)


class TripletImageLoader(Dataset):
    def __init__(self, base_path, transform=None, loader=default_image_loader):
        self.base_path = base_path
        self.by_class = collections.OrderedDict()
        for name in sorted(os.listdir(base_path)):
            folder = os.path.join(base_path, name)
            self.by_class[name] = sorted(os.path.join(folder, file) for file in os.listdir(folder))
        self.anchors = [(name, path) for name, paths in self.by_class.items() for path in paths]
        self.transform = transform
        self.loader = loader

    def draw(self, name, path):
        positive = path
        while positive == path:
            positive = random.choice(self.by_class[name])
        other = random.choice([key for key in self.by_class if key != name])
        return positive, random.choice(self.by_class[other])

    def __getitem__(self, index):
        name, path = self.anchors[index]
        positive, negative = self.draw(name, path)
        pictures = [self.loader(p) for p in (path, positive, negative)]
        if self.transform is not None:
            pictures = [self.transform(picture) for picture in pictures]
        return (*pictures, os.path.basename(path))

    def __len__(self):
        return len(self.anchors)


def main():
    args = parser(__doc__, batch_size=12).parse_args()
    seed_all(43)
    transform = transforms.Compose(
        [
            transforms.Resize(256),
            transforms.RandomCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ]
    )
    loader = DataLoader(
        TripletImageLoader(f"{args.data}/photos", transform),
        args.batch_size,
        True,
        num_workers=args.workers,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for anchor, positive, negative, _ in recorder.epoch(loader):
            assert torch.is_tensor(anchor) and positive.shape == negative.shape
    recorder.finish()


if __name__ == "__main__":
    main()
