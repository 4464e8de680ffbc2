"""Volumes in packed HDF5 files, one a case: the label whole, a patch of the image around what it shows."""

import h5py
import numpy as np
import torch
from made_here import made
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def make_cases(folder, rng):
    for number in range(24):
        shape = (72, 112, 112)
        image = np.cumsum(rng.normal(size=shape), 1).round(1).astype(np.float32)
        label = np.zeros(shape, np.uint8)
        z, y, x = (rng.integers(10, size - 30) for size in shape)
        label[z : z + 20, y : y + 20, x : x + 20] = 1 + number % 3
        with h5py.File(folder / f"case_{number:02}.h5", "w") as file:
            file.create_dataset("image", data=image, compression="gzip", chunks=(8, 56, 56))
            file.create_dataset("label", data=label, compression="gzip", chunks=(8, 56, 56))


class Cases(Dataset):
    def __init__(self, folder, patch=(48, 80, 80), repeats=3):
        self.paths = sorted(folder.glob("*.h5"))
        self.patch, self.repeats = patch, repeats

    def __len__(self):
        return len(self.paths) * self.repeats

    def corner(self, label):
        """Two of three patches hold something."""
        if np.random.rand() < 0.66:
            centre = np.argwhere(label)[np.random.randint(int((label > 0).sum()))]
        else:
            centre = [np.random.randint(size) for size in label.shape]
        return [
            int(np.clip(at - width // 2, 0, size - width))
            for at, width, size in zip(centre, self.patch, label.shape, strict=True)
        ]

    def __getitem__(self, index):
        with h5py.File(self.paths[index // self.repeats], "r") as file:
            label = file["label"][:]
            corner = self.corner(label)
            part = tuple(slice(c, c + w) for c, w in zip(corner, self.patch, strict=True))
            image = file["image"][part]
        label = label[part]
        turns = np.random.randint(4)
        image, label = (np.rot90(one, turns, (1, 2)) for one in (image, label))
        if np.random.rand() < 0.5:
            image, label = (np.flip(one, 2) for one in (image, label))
        image = (image - image.mean()) / (image.std() + 1e-8)
        return {
            "image": torch.from_numpy(image[None].astype(np.float32)),
            "label": torch.from_numpy(label.astype(np.int64)),
        }


def main():
    args = parser(__doc__, batch_size=4).parse_args()
    folder = made(args.data, "packed_volumes", make_cases)
    seed_all(1337)
    loader = DataLoader(
        Cases(folder),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        worker_init_fn=lambda number: np.random.seed(1337 + number),
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["image"].shape[2:] == batch["label"].shape[1:]
    recorder.finish()


if __name__ == "__main__":
    main()
