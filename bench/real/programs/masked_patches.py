"""Masked image modelling: a picture with a random mask of its patches, drawn with numpy in the transform."""

import math
import random

import numpy as np
import torchvision.transforms as T
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import default_collate
from torchvision.datasets import ImageFolder


class BlockMask:
    """Blocks of patches with random shapes, until `count` patches are masked."""

    def __init__(self, size, count, least=16):
        self.height = self.width = size
        self.count = count
        self.least = least
        self.log_aspect = (math.log(0.3), math.log(1 / 0.3))

    def _block(self, mask, most):
        delta = 0
        for _ in range(10):
            area = random.uniform(self.least, most)
            aspect = math.exp(random.uniform(*self.log_aspect))
            h, w = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
            if w < self.width and h < self.height:
                top, left = random.randint(0, self.height - h), random.randint(0, self.width - w)
                masked = mask[top : top + h, left : left + w].sum()
                if 0 < h * w - masked <= most:
                    for i in range(top, top + h):
                        for j in range(left, left + w):
                            if mask[i, j] == 0:
                                mask[i, j] = 1
                                delta += 1
                if delta > 0:
                    break
        return delta

    def __call__(self):
        mask = np.zeros((self.height, self.width), dtype=int)
        done = 0
        while done < self.count:
            delta = self._block(mask, max(self.count - done, self.least))
            if delta == 0:
                break
            done += delta
        return mask


class MaskedTransform:
    def __init__(self, size, patch):
        self.img = T.Compose(
            [
                T.Lambda(lambda img: img.convert("RGB") if img.mode != "RGB" else img),
                T.RandomResizedCrop(size, scale=(0.67, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0)),
                T.RandomHorizontalFlip(),
                T.ToTensor(),
                T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ]
        )
        self.mask = BlockMask(size // patch, 75)

    def __call__(self, img):
        return self.img(img), self.mask()


def collate_fn(batch):
    if not isinstance(batch[0][0], tuple):
        return default_collate(batch)
    parts = [default_collate([item[0][k] for item in batch]) for k in range(len(batch[0][0]))]
    parts.append(default_collate([item[1] for item in batch]))
    return parts


def main():
    args = parser(__doc__).parse_args()
    seed_all(7)
    dataset = ImageFolder(f"{args.data}/photos", MaskedTransform(192, 12))
    loader = DataLoader(
        dataset,
        args.batch_size,
        True,
        num_workers=args.workers,
        collate_fn=collate_fn,
        drop_last=True,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(loader):
            pass
    recorder.finish()


if __name__ == "__main__":
    main()
