"""Clips in one mapped array: a random window in time, a crop, floats in [C, T, H, W] and a second, slow path."""

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def uniform_temporal_subsample(x, num_samples, temporal_dim=1):
    t = x.shape[temporal_dim]
    indices = torch.clamp(torch.linspace(0, t - 1, num_samples), 0, t - 1).long()
    return torch.index_select(x, temporal_dim, indices)


class PackPathway:
    def __init__(self, alpha=4):
        self.alpha = alpha

    def __call__(self, frames):
        return [uniform_temporal_subsample(frames, frames.shape[1] // self.alpha), frames]


class Clips(Dataset):
    def __init__(self, path, length=16, size=96, pathway=None):
        self.path = path
        self.length, self.size, self.pathway = length, size, pathway
        self.clips = np.load(path, mmap_mode="r")
        self.mean = torch.tensor([0.45, 0.45, 0.45]).view(3, 1, 1, 1)
        self.std = torch.tensor([0.225, 0.225, 0.225]).view(3, 1, 1, 1)

    def __len__(self):
        return len(self.clips) * 4

    def __getitem__(self, index):
        clip = self.clips[index % len(self.clips)]
        start = np.random.randint(0, clip.shape[0] - self.length + 1)
        top, left = (np.random.randint(0, clip.shape[axis] - self.size + 1) for axis in (1, 2))
        clip = clip[start : start + self.length, top : top + self.size, left : left + self.size]
        frames = torch.from_numpy(np.array(clip)).permute(3, 0, 1, 2).float() / 255.0
        frames = (frames - self.mean) / self.std
        if torch.rand(1).item() < 0.5:
            frames = frames.flip(-1)
        if self.pathway is not None:
            frames = self.pathway(frames)
        return frames, index % 10


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(26)
    dataset = Clips(f"{args.data}/clips.npy", pathway=PackPathway())
    loader = DataLoader(
        dataset,
        args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        persistent_workers=args.workers > 0,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for (slow, fast), _ in recorder.epoch(loader):
            assert fast.shape[2] == 4 * slow.shape[2]
    recorder.finish()


if __name__ == "__main__":
    main()
