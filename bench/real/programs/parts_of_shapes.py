"""Parts of shapes: arrays of points, a random choice of them, rotated and jittered in place."""

import glob

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def rotate(points):
    theta = np.random.uniform(0, np.pi * 2)
    matrix = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    points[:, [0, 2]] = points[:, [0, 2]].dot(matrix)
    return points


class PartDataset(Dataset):
    def __init__(self, root, npoints=2048, data_augmentation=True):
        self.files = sorted(glob.glob(f"{root}/parts/*.npy"))
        self.npoints = npoints
        self.data_augmentation = data_augmentation
        self.cache = {}

    def load(self, index):
        found = self.cache.get(index)
        if found is None:
            found = np.load(self.files[index])
            self.cache[index] = found
        return found

    def __getitem__(self, index):
        data = self.load(index % len(self.files))
        choice = np.random.choice(len(data), self.npoints, replace=True)
        point_set = data[choice, :3]
        seg = data[choice, -1].astype(np.int64)
        point_set = point_set - np.expand_dims(np.mean(point_set, axis=0), 0)
        dist = np.max(np.sqrt(np.sum(point_set**2, axis=1)), 0)
        point_set = point_set / dist
        normals = data[choice, 3:6]
        normals += np.random.normal(0, 0.01, size=normals.shape)
        if self.data_augmentation:
            point_set = rotate(point_set)
            point_set += np.random.normal(0, 0.02, size=point_set.shape)
        points = np.hstack([point_set, normals]).astype(np.float32)
        return torch.from_numpy(points), torch.from_numpy(seg), index % 16

    def __len__(self):
        return len(self.files) * 8


def main():
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(33)
    loader = DataLoader(
        PartDataset(args.data), args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for points, seg, _ in recorder.epoch(loader):
            assert points.shape[:2] == seg.shape
    recorder.finish()


if __name__ == "__main__":
    main()
