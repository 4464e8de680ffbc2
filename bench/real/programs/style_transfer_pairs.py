"""Style transfer: two endless loaders, of contents and of styles, whose iterators are drawn from by hand."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageFile
from recording import Recorder, parser, seed_all
from torch.utils import data
from torchvision import transforms

Image.MAX_IMAGE_PIXELS = None
ImageFile.LOAD_TRUNCATED_IMAGES = True


def InfiniteSampler(n):
    i = n - 1
    order = np.random.permutation(n)
    while True:
        yield order[i]
        i += 1
        if i >= n:
            order = np.random.permutation(n)
            i = 0


class InfiniteSamplerWrapper(data.sampler.Sampler):
    def __init__(self, data_source):
        self.num_samples = len(data_source)

    def __iter__(self):
        return iter(InfiniteSampler(self.num_samples))

    def __len__(self):
        return 2**31


class FlatFolderDataset(data.Dataset):
    def __init__(self, root, transform):
        super().__init__()
        self.root = root
        self.paths = sorted(Path(self.root).glob("*/*.jpg"))
        self.transform = transform

    def __getitem__(self, index):
        path = self.paths[index]
        img = Image.open(str(path)).convert("RGB")
        return self.transform(img)

    def __len__(self):
        return len(self.paths)

    def name(self):
        return "FlatFolderDataset"


def train_transform():
    return transforms.Compose(
        [transforms.Resize(size=(384, 384)), transforms.RandomCrop(256), transforms.ToTensor()]
    )


def endless(root, args):
    dataset = FlatFolderDataset(root, train_transform())
    return iter(
        data.DataLoader(
            dataset,
            batch_size=args.batch_size,
            sampler=InfiniteSamplerWrapper(dataset),
            num_workers=args.workers,
        )
    )


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(48)
    contents, styles = endless(f"{args.data}/photos", args), endless(f"{args.data}/unpaired", args)
    recorder = Recorder()
    for _ in range(args.epochs):
        for content, style in recorder.epoch((next(contents), next(styles)) for _ in range(12)):
            assert content.shape == style.shape
    recorder.finish()


if __name__ == "__main__":
    main()
