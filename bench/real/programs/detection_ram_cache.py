"""Detection with pictures cached in memory or as .npy, mosaic of four, mixup, copy-paste, endless sampler."""

import math
import os
import random
import tempfile
from pathlib import Path

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import Dataset, dataloader

cv2.setNumThreads(0)
RANK = -1


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


class InfiniteDataLoader(dataloader.DataLoader):
    """Keeps its workers from epoch to epoch."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "batch_sampler", _RepeatSampler(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


class _RepeatSampler:
    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


class CachedImages(Dataset):
    def __init__(self, root, cache, img_size=224):
        self.files = sorted(Path(root, "photos").rglob("*.jpg"))[:96]
        self.npy = [Path(cache) / f"{f.parent.name}_{f.stem}.npy" for f in self.files]
        self.labels = []
        for f in self.files:
            text = Path(root, "yolo", f"{f.parent.name}_{f.stem}.txt").read_text()
            self.labels.append(
                np.array([x.split() for x in text.strip().splitlines()], dtype=np.float32)
            )
        self.img_size = img_size
        self.ims = [None] * len(self.files)
        self.hw = [None] * len(self.files)
        self.buffer = []
        self.max_buffer = 16
        for i in range(0, len(self.files), 2):  # half of them in memory
            self.ims[i], self.hw[i] = self.load_image(i)

    def __len__(self):
        return len(self.files)

    def load_image(self, i):
        im, fn = self.ims[i], self.npy[i]
        if im is None:
            if fn.exists():
                im = np.load(fn)
            else:
                im = cv2.imread(str(self.files[i]))
                if i % 3 == 0:
                    temporary = fn.with_suffix(f".{os.getpid()}.npy")
                    np.save(temporary, im)
                    os.replace(temporary, fn)
            h0, w0 = im.shape[:2]
            r = self.img_size / max(h0, w0)
            if r != 1:
                im = cv2.resize(
                    im,
                    (min(math.ceil(w0 * r), self.img_size), min(math.ceil(h0 * r), self.img_size)),
                    interpolation=cv2.INTER_LINEAR,
                )
            self.buffer.append(i)
            if len(self.buffer) >= self.max_buffer:
                self.buffer.pop(0)
            return im, im.shape[:2]
        return self.ims[i], self.hw[i]

    def mosaic(self, index):
        s = self.img_size
        yc, xc = (int(random.uniform(s // 2, 2 * s - s // 2)) for _ in range(2))
        out = np.full((s * 2, s * 2, 3), 114, dtype=np.uint8)
        labels4 = []
        for i, k in enumerate([index, *random.choices(range(len(self)), k=3)]):
            img, (h, w) = self.load_image(k)
            x1, y1 = max(xc - w, 0) if i % 2 == 0 else xc, max(yc - h, 0) if i < 2 else yc
            x2, y2 = xc if i % 2 == 0 else min(xc + w, 2 * s), yc if i < 2 else min(yc + h, 2 * s)
            bx, by = (w - (x2 - x1), 0)[i % 2], h - (y2 - y1) if i < 2 else 0
            out[y1:y2, x1:x2] = img[by : by + y2 - y1, bx : bx + x2 - x1]
            lb = self.labels[k].copy()
            lb[:, 1] = lb[:, 1] * w + x1 - bx
            lb[:, 2] = lb[:, 2] * h + y1 - by
            labels4.append(lb)
        return cv2.resize(out, (s, s)), np.concatenate(labels4)

    def __getitem__(self, index):
        img, labels = self.mosaic(index)
        if random.random() < 0.3:
            img2, labels2 = self.mosaic(random.randint(0, len(self) - 1))
            r = np.random.beta(32.0, 32.0)
            img = (img * r + img2 * (1 - r)).astype(np.uint8)
            labels = np.concatenate((labels, labels2), 0)
        gains = np.random.uniform(-1, 1, 3) * (0.015, 0.7, 0.4) + 1
        hue, sat, val = cv2.split(cv2.cvtColor(img, cv2.COLOR_BGR2HSV))
        x = np.arange(256, dtype=gains.dtype)
        luts = ((x * gains[0]) % 180, np.clip(x * gains[1], 0, 255), np.clip(x * gains[2], 0, 255))
        planes = [
            cv2.LUT(p, t.astype(np.uint8)) for p, t in zip((hue, sat, val), luts, strict=False)
        ]
        img = cv2.cvtColor(cv2.merge(planes), cv2.COLOR_HSV2BGR)
        if random.random() < 0.5:
            img = np.fliplr(img)
            labels[:, 1] = self.img_size - labels[:, 1]
        out = torch.zeros((len(labels), 6))
        out[:, 1:] = torch.from_numpy(labels)
        return (
            torch.from_numpy(np.ascontiguousarray(img.transpose(2, 0, 1)[::-1])),
            out,
            str(self.files[index]),
        )

    @staticmethod
    def collate_fn(batch):
        im, label, path = zip(*batch, strict=False)
        for i, lb in enumerate(label):
            lb[:, 0] = i
        return torch.stack(im, 0), torch.cat(label, 0), path


if __name__ == "__main__":
    opt = parser(__doc__).parse_args()
    seed_all(1)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        dataset = CachedImages(opt.data, cache)
        generator = torch.Generator()
        generator.manual_seed(6148914691236517205 + RANK)
        loader = InfiniteDataLoader(
            dataset, opt.batch_size, shuffle=True, num_workers=opt.workers,
            collate_fn=CachedImages.collate_fn, worker_init_fn=seed_worker, generator=generator,
        )  # fmt: skip
        recorder = Recorder()
        for _ in range(opt.epochs):
            for imgs, _targets, _paths in recorder.epoch(loader):
                imgs = imgs.float() / 255
        recorder.finish()
