"""Sweeps of a laser: binary files, rotated and scaled, gathered in voxels, with a collate that adds the row."""

import glob
import random

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class VoxelGenerator:
    def __init__(self, size, reach, max_points, max_voxels):
        self.size = np.array(size, np.float32)
        self.reach = np.array(reach, np.float32)
        self.grid = np.round((self.reach[3:] - self.reach[:3]) / self.size).astype(np.int64)
        self.max_points, self.max_voxels = max_points, max_voxels

    def generate(self, points):
        inside = np.all(
            (points[:, :3] >= self.reach[:3]) & (points[:, :3] < self.reach[3:]), axis=1
        )
        points = points[inside]
        coords = np.floor((points[:, :3] - self.reach[:3]) / self.size).astype(np.int64)
        flat = (coords[:, 2] * self.grid[1] + coords[:, 1]) * self.grid[0] + coords[:, 0]
        order = np.argsort(flat, kind="stable")
        unique, starts, counts = np.unique(flat[order], return_index=True, return_counts=True)
        keep = np.random.permutation(len(unique))[: self.max_voxels]
        voxels = np.zeros((len(keep), self.max_points, points.shape[1]), dtype=np.float32)
        for row, voxel in enumerate(keep):
            count = min(counts[voxel], self.max_points)
            voxels[row, :count] = points[order[starts[voxel] : starts[voxel] + count]]
        return (
            voxels,
            coords[order[starts[keep]]][:, ::-1],
            np.minimum(counts[keep], self.max_points),
        )


class Sweeps(Dataset):
    def __init__(self, root):
        self.files = sorted(glob.glob(f"{root}/lidar/*.bin"))
        self.voxels = VoxelGenerator([0.4, 0.4, 0.5], [-40, -40, -3, 40, 40, 3], 8, 3000)

    def __len__(self):
        return len(self.files)

    def augment(self, points):
        if random.random() < 0.5:
            points[:, 1] = -points[:, 1]
        angle = np.random.uniform(-0.78, 0.78)
        cos, sin = np.cos(angle), np.sin(angle)
        points[:, :2] = points[:, :2] @ np.array([[cos, sin], [-sin, cos]], dtype=np.float32)
        points[:, :3] *= np.random.uniform(0.95, 1.05)
        np.random.shuffle(points)
        return points

    def __getitem__(self, index):
        points = np.fromfile(self.files[index], dtype=np.float32).reshape(-1, 4)
        points = self.augment(points)
        voxels, coords, counts = self.voxels.generate(points)
        return {"voxels": voxels, "coordinates": coords, "num_points": counts, "frame": index}


def collate_batch(samples):
    out = {}
    for key in samples[0]:
        values = [sample[key] for sample in samples]
        if key in ("voxels", "num_points"):
            out[key] = torch.from_numpy(np.concatenate(values))
        elif key == "coordinates":
            rows = [np.pad(c, ((0, 0), (1, 0)), constant_values=i) for i, c in enumerate(values)]
            out[key] = torch.from_numpy(np.concatenate(rows))
        else:
            out[key] = np.stack(values)
    return out


if __name__ == "__main__":
    args = parser(__doc__, batch_size=4).parse_args()
    seed_all(34)
    loader = DataLoader(
        Sweeps(args.data),
        args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        collate_fn=collate_batch,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert len(batch["voxels"]) == len(batch["coordinates"])
    recorder.finish()
