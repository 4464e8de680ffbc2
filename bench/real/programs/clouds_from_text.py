"""Shapes as clouds of points: text files, farthest points, a cache by index, jitter in the training loop."""

import os

import numpy as np
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def pc_normalize(pc):
    centroid = np.mean(pc, axis=0)
    pc = pc - centroid
    m = np.max(np.sqrt(np.sum(pc**2, axis=1)))
    return pc / m


def farthest_point_sample(point, npoint):
    N, _ = point.shape
    xyz = point[:, :3]
    centroids = np.zeros((npoint,))
    distance = np.ones((N,)) * 1e10
    farthest = np.random.randint(0, N)
    for i in range(npoint):
        centroids[i] = farthest
        centroid = xyz[farthest, :]
        dist = np.sum((xyz - centroid) ** 2, -1)
        mask = dist < distance
        distance[mask] = dist[mask]
        farthest = np.argmax(distance, -1)
    return point[centroids.astype(np.int32)]


class ShapesDataLoader(Dataset):
    def __init__(self, root, npoint=512, uniform=True, normal_channel=True, cache_size=15000):
        self.root = root
        self.npoints = npoint
        self.uniform = uniform
        self.normal_channel = normal_channel
        self.datapath = [
            (name, number % 10) for number, name in enumerate(sorted(os.listdir(root)))
        ]
        self.cache_size = cache_size
        self.cache = {}

    def __len__(self):
        return len(self.datapath)

    def _get_item(self, index):
        if index in self.cache:
            point_set, cls = self.cache[index]
        else:
            name, label = self.datapath[index]
            cls = np.array([label]).astype(np.int32)
            point_set = np.loadtxt(os.path.join(self.root, name), delimiter=",").astype(np.float32)
            if self.uniform:
                point_set = farthest_point_sample(point_set, self.npoints)
            else:
                point_set = point_set[0 : self.npoints, :]
            point_set[:, 0:3] = pc_normalize(point_set[:, 0:3])
            if not self.normal_channel:
                point_set = point_set[:, 0:3]
            if len(self.cache) < self.cache_size:
                self.cache[index] = (point_set, cls)
        return point_set, cls

    def __getitem__(self, index):
        return self._get_item(index)


def random_point_dropout(batch_pc, max_dropout_ratio=0.875):
    for b in range(batch_pc.shape[0]):
        dropout_ratio = np.random.random() * max_dropout_ratio
        drop_idx = np.where(np.random.random(batch_pc.shape[1]) <= dropout_ratio)[0]
        if len(drop_idx) > 0:
            batch_pc[b, drop_idx, :] = batch_pc[b, 0, :]
    return batch_pc


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(32)
    train_dataset = ShapesDataLoader(f"{args.data}/shapes")
    loader = DataLoader(
        train_dataset, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for points, _ in recorder.epoch(loader):
            random_point_dropout(points.data.numpy())
    recorder.finish()


if __name__ == "__main__":
    main()
