"""Patches of volumes: an HDF5 file that each worker opens, foreground oversampled, mirrored, noise and gamma."""

import h5py
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class VolumePatches(Dataset):
    def __init__(self, path, patch=(32, 64, 64), per_volume=8):
        self.path, self.patch, self.per_volume = path, np.array(patch), per_volume
        self.file = None
        with h5py.File(path, "r") as file:
            self.cases = sorted(file.keys())
            self.shapes = {case: file[case]["image"].shape for case in self.cases}

    def __len__(self):
        return len(self.cases) * self.per_volume

    def open(self):
        if self.file is None:
            self.file = h5py.File(self.path, "r", libver="latest", swmr=False)
        return self.file

    def corner(self, case, rng):
        return [
            rng.randint(0, size - width + 1)
            for size, width in zip(self.shapes[case], self.patch, strict=True)
        ]

    def __getitem__(self, index):
        case = self.cases[index // self.per_volume]
        group = self.open()[case]
        rng = np.random
        corner = self.corner(case, rng)
        for _ in range(3):
            part = tuple(slice(c, c + w) for c, w in zip(corner, self.patch, strict=True))
            label = group["label"][part]
            if label.mean() > 0.15:
                break
            corner = self.corner(case, rng)
        image = group["image"][part]
        for axis in range(3):
            if rng.uniform() < 0.5:
                image, label = np.flip(image, axis), np.flip(label, axis)
        image = image + rng.normal(0, rng.uniform(0, 0.1), image.shape)
        if rng.uniform() < 0.3:
            least, span = image.min(), image.max() - image.min()
            image = np.power((image - least) / span, rng.uniform(0.7, 1.5)) * span + least
        image = (image - image.mean()) / (image.std() + 1e-8)
        return {
            "data": torch.from_numpy(image[None].astype(np.float32)),
            "seg": torch.from_numpy(label[None].astype(np.int16).copy()),
            "keys": case,
        }


def main():
    args = parser(__doc__, batch_size=4).parse_args()
    seed_all(41)
    loader = DataLoader(
        VolumePatches(f"{args.data}/volumes.h5"), args.batch_size, True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["data"].shape == batch["seg"].shape
    recorder.finish()


if __name__ == "__main__":
    main()
