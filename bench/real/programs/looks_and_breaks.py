"""Loops that leave early: one batch looked at again and again, cycles, breaks, two loaders zipped, exceptions caught."""

import itertools
from pathlib import Path

import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Pictures(Dataset):
    def __init__(self, root, bad=()):
        self.files = sorted(Path(root, "photos").rglob("*.jpg"))[:64]
        self.bad = set(bad)
        self.t = transforms.Compose(
            [transforms.Resize(80), transforms.RandomCrop(64), transforms.ToTensor()]
        )

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        if i in self.bad:
            raise KeyError(f"no picture {i}")
        return self.t(Image.open(self.files[i]).convert("RGB")), i


class Skips(Pictures):
    def __getitem__(self, i):
        try:
            return super().__getitem__(i)
        except KeyError:
            return None


def collate_known(batch):
    batch = [b for b in batch if b is not None]
    return torch.utils.data.default_collate(batch) if batch else torch.Tensor()


def until_error(loader):
    it = iter(loader)
    while True:
        try:
            yield next(it)
        except StopIteration:
            return
        except KeyError as e:
            yield str(type(e)), str(e).splitlines()[0]
            return


def one_epoch(train, other, failing, skipping, endless):
    for _ in range(3):
        yield next(iter(train))
    for i, (x, numbers) in enumerate(train):
        yield x.clamp_(0, 0.5), numbers
        if i == 2:
            break
    yield from itertools.islice(endless, 5)
    for a, b in zip(train, other, strict=False):
        yield a[0].add_(b[0].mean()), b
    yield from until_error(failing)
    yield from skipping


if __name__ == "__main__":
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(34)
    named = {"num_workers": args.workers}
    train = DataLoader(Pictures(args.data), args.batch_size, shuffle=True, **named)
    other = DataLoader(Pictures(args.data), args.batch_size * 2, shuffle=True, **named)
    failing = DataLoader(Pictures(args.data, {13}), args.batch_size, **named)
    skips = Skips(args.data, {3, 13, *range(24, 32)})
    skipping = DataLoader(skips, args.batch_size, collate_fn=collate_known, **named)
    recorder = Recorder()
    fixed = next(iter(train))
    endless = itertools.cycle(train)
    for _ in range(args.epochs):
        for _ in recorder.epoch(one_epoch(train, other, failing, skipping, endless)):
            pass
        assert len(fixed[0]) == args.batch_size
    recorder.finish()
