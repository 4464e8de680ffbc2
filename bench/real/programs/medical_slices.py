"""Slices of scans: arrays in compressed files, rotated and flipped with scipy, zoomed to the network's size."""

import os
import random

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from scipy import ndimage
from scipy.ndimage import zoom
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


def random_rot_flip(image, label):
    k = np.random.randint(0, 4)
    image = np.rot90(image, k)
    label = np.rot90(label, k)
    axis = np.random.randint(0, 2)
    image = np.flip(image, axis=axis).copy()
    label = np.flip(label, axis=axis).copy()
    return image, label


def random_rotate(image, label):
    angle = np.random.randint(-20, 20)
    image = ndimage.rotate(image, angle, order=0, reshape=False)
    label = ndimage.rotate(label, angle, order=0, reshape=False)
    return image, label


class RandomGenerator:
    def __init__(self, output_size):
        self.output_size = output_size

    def __call__(self, sample):
        image, label = sample["image"], sample["label"]
        if random.random() > 0.5:
            image, label = random_rot_flip(image, label)
        elif random.random() > 0.5:
            image, label = random_rotate(image, label)
        x, y = image.shape
        if x != self.output_size[0] or y != self.output_size[1]:
            image = zoom(image, (self.output_size[0] / x, self.output_size[1] / y), order=3)
            label = zoom(label, (self.output_size[0] / x, self.output_size[1] / y), order=0)
        image = torch.from_numpy(image.astype(np.float32)).unsqueeze(0)
        label = torch.from_numpy(label.astype(np.float32))
        return {"image": image, "label": label.long()}


class SlicesDataset(Dataset):
    def __init__(self, base_dir, split, transform=None):
        self.transform = transform
        self.split = split
        self.sample_list = sorted(os.listdir(base_dir))
        self.data_dir = base_dir

    def __len__(self):
        return len(self.sample_list)

    def __getitem__(self, idx):
        slice_name = self.sample_list[idx].strip("\n")
        data = np.load(os.path.join(self.data_dir, slice_name))
        image, label = data["image"], data["label"]
        sample = {"image": image, "label": label}
        if self.transform:
            sample = self.transform(sample)
        sample["case_name"] = self.sample_list[idx].strip("\n")
        return sample


def worker_init_fn(worker_id):
    random.seed(1234 + worker_id)


if __name__ == "__main__":
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(1234)
    db_train = SlicesDataset(
        f"{args.data}/slices",
        "train",
        transforms.Compose([RandomGenerator(output_size=[224, 224])]),
    )
    trainloader = DataLoader(
        db_train,
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        worker_init_fn=worker_init_fn,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for sampled_batch in recorder.epoch(trainloader):
            assert sampled_batch["image"].shape[-1] == sampled_batch["label"].shape[-1]
    recorder.finish()
