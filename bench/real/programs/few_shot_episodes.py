"""Few-shot learning: episodes of N classes with K pictures each, by a batch sampler, glyphs rotated to classes."""

import os

import numpy as np
import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class Glyphs(Dataset):
    def __init__(self, root, size=28, rotations=(0, 90, 180, 270)):
        self.items = []
        for alphabet in sorted(os.listdir(root)):
            for name in sorted(os.listdir(os.path.join(root, alphabet))):
                for angle in rotations:
                    self.items.append(
                        (os.path.join(root, alphabet, name), f"{alphabet}/{angle}", angle)
                    )
        self.idx_classes = {
            name: number for number, name in enumerate(sorted({i[1] for i in self.items}))
        }
        self.y = [self.idx_classes[item[1]] for item in self.items]
        self.size = size

    def __getitem__(self, idx):
        path, _, rot = self.items[idx]
        x = Image.open(path)
        x = x.rotate(rot)
        x = x.resize((self.size, self.size))
        x = torch.from_numpy(np.array(x, np.float32, copy=True)).contiguous()
        return x.view(1, self.size, self.size), self.y[idx]

    def __len__(self):
        return len(self.items)


class PrototypicalBatchSampler:
    def __init__(self, labels, classes_per_it, num_samples, iterations):
        self.labels = labels
        self.classes_per_it, self.sample_per_class, self.iterations = (
            classes_per_it,
            num_samples,
            iterations,
        )
        self.classes, self.counts = np.unique(self.labels, return_counts=True)
        self.classes = torch.LongTensor(self.classes)
        self.indexes = torch.full((len(self.classes), int(max(self.counts))), -1, dtype=torch.long)
        self.numel_per_class = torch.zeros_like(self.classes)
        for idx, label in enumerate(self.labels):
            label_idx = int(np.argwhere(self.classes.numpy() == label)[0, 0])
            self.indexes[label_idx, self.numel_per_class[label_idx]] = idx
            self.numel_per_class[label_idx] += 1

    def __iter__(self):
        spc, cpi = self.sample_per_class, self.classes_per_it
        for _ in range(self.iterations):
            batch = torch.LongTensor(spc * cpi)
            c_idxs = torch.randperm(len(self.classes))[:cpi]
            for i, c in enumerate(self.classes[c_idxs]):
                label_idx = torch.arange(len(self.classes)).long()[self.classes == c].item()
                sample_idxs = torch.randperm(int(self.numel_per_class[label_idx]))[:spc]
                batch[i * spc : (i + 1) * spc] = self.indexes[label_idx][sample_idxs]
            yield batch[torch.randperm(len(batch))]

    def __len__(self):
        return self.iterations


def main():
    args = parser(__doc__).parse_args()
    seed_all(7)
    dataset = Glyphs(f"{args.data}/glyphs")
    sampler = PrototypicalBatchSampler(dataset.y, classes_per_it=16, num_samples=10, iterations=25)
    loader = DataLoader(dataset, batch_sampler=sampler, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for x, y in recorder.epoch(loader):
            assert len(x) == len(y) == 160
    recorder.finish()


if __name__ == "__main__":
    main()
