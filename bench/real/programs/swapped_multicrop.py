"""Clustering of swapped views: a folder whose samples are lists of crops, made with lists of transforms."""

import logging

import numpy as np
import torchvision.datasets as datasets
import torchvision.transforms as transforms
from PIL import ImageFilter
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader

logger = logging.getLogger("swapped")


class PILRandomGaussianBlur:
    def __init__(self, p=0.5, radius_min=0.1, radius_max=2.0):
        self.prob = p
        self.radius_min = radius_min
        self.radius_max = radius_max

    def __call__(self, img):
        if np.random.rand() >= self.prob:
            return img
        return img.filter(
            ImageFilter.GaussianBlur(radius=np.random.uniform(self.radius_min, self.radius_max))
        )


def color_distortion(s=1.0):
    jitter = transforms.ColorJitter(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s)
    return transforms.Compose(
        [transforms.RandomApply([jitter], p=0.8), transforms.RandomGrayscale(p=0.2)]
    )


class MultiCropFolder(datasets.ImageFolder):
    def __init__(self, path, sizes, counts, least, most, return_index=False):
        super().__init__(path)
        self.return_index = return_index
        trans = []
        for size, count, low, high in zip(sizes, counts, least, most, strict=True):
            crop = transforms.RandomResizedCrop(size, scale=(low, high))
            one = transforms.Compose(
                [
                    crop,
                    transforms.RandomHorizontalFlip(p=0.5),
                    color_distortion(),
                    PILRandomGaussianBlur(),
                    transforms.ToTensor(),
                    transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.228, 0.224, 0.225]),
                ]
            )
            trans.extend([one] * count)
        self.trans = trans

    def __getitem__(self, index):
        path, _ = self.samples[index]
        image = self.loader(path)
        multi_crops = [trans(image) for trans in self.trans]
        if self.return_index:
            return index, multi_crops
        return multi_crops


def main():
    args = parser(__doc__).parse_args()
    seed_all(31)
    dataset = MultiCropFolder(
        f"{args.data}/photos", [160, 96], [2, 4], [0.14, 0.05], [1.0, 0.14], return_index=True
    )
    logger.info("building data done with %d images", len(dataset))
    loader = DataLoader(
        dataset,
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        pin_memory=False,
        drop_last=True,
    )
    recorder = Recorder()
    for epoch in range(args.epochs):
        for step, (_, views) in enumerate(recorder.epoch(loader)):
            if step % 50 == 0:
                logger.info("epoch %d step %d views %d", epoch, step, len(views))
    recorder.finish()


if __name__ == "__main__":
    main()
