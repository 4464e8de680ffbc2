"""Depth: a picture and 16-bit depth, rotated, cropped and flipped alike, gamma and colours in numpy."""

import json
import random

import numpy as np
import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


def _is_numpy_image(img):
    return isinstance(img, np.ndarray) and img.ndim in {2, 3}


class ToTensor:
    def __init__(self, mode):
        self.mode = mode
        self.normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])

    def __call__(self, sample):
        image, focal, depth = sample["image"], sample["focal"], sample["depth"]
        if not _is_numpy_image(image):
            raise TypeError(f"pic should be ndarray. Got {type(image)}")
        image = self.normalize(torch.from_numpy(image.transpose((2, 0, 1))))
        depth = torch.from_numpy(depth.transpose((2, 0, 1)))
        return {"image": image, "depth": depth, "focal": focal}


class DataLoadPreprocess(Dataset):
    def __init__(self, args, mode, transform=None):
        self.args, self.mode, self.transform = args, mode, transform
        with open(f"{args.data}/notes.json") as file:
            self.filenames = [(n["file"], f"masks/{n['stem']}", n["stem"]) for n in json.load(file)]

    def __getitem__(self, idx):
        name, _, stem = self.filenames[idx]
        image = Image.open(f"{self.args.data}/{name}").convert("RGB")
        depth_gt = Image.open(f"{self.args.data}/depth/{stem}.png")
        if self.args.do_random_rotate:
            random_angle = (random.random() - 0.5) * 2 * self.args.degree
            image = image.rotate(random_angle, resample=Image.BILINEAR)
            depth_gt = depth_gt.rotate(random_angle, resample=Image.NEAREST)
        image = np.asarray(image, dtype=np.float32) / 255.0
        depth_gt = np.asarray(depth_gt, dtype=np.float32)
        depth_gt = np.expand_dims(depth_gt, axis=2) / 1000.0
        image, depth_gt = self.random_crop(image, depth_gt, self.args.size, self.args.size)
        image, depth_gt = self.train_preprocess(image, depth_gt)
        return self.transform({"image": image, "depth": depth_gt, "focal": 518.8579})

    def random_crop(self, img, depth, height, width):
        assert img.shape[0] >= height and img.shape[1] >= width
        x = random.randint(0, img.shape[1] - width)
        y = random.randint(0, img.shape[0] - height)
        return img[y : y + height, x : x + width, :], depth[y : y + height, x : x + width, :]

    def train_preprocess(self, image, depth_gt):
        if random.random() > 0.5:
            image = (image[:, ::-1, :]).copy()
            depth_gt = (depth_gt[:, ::-1, :]).copy()
        if random.random() > 0.5:
            image = self.augment_image(image)
        return image.copy(), depth_gt.copy()

    def augment_image(self, image):
        gamma = random.uniform(0.9, 1.1)
        image_aug = image**gamma
        brightness = random.uniform(0.75, 1.25)
        image_aug = image_aug * brightness
        colors = np.random.uniform(0.9, 1.1, size=3)
        white = np.ones((image.shape[0], image.shape[1]))
        color_image = np.stack([white * colors[i] for i in range(3)], axis=2)
        image_aug *= color_image
        return np.clip(image_aug, 0, 1)

    def __len__(self):
        return len(self.filenames)


if __name__ == "__main__":
    options = parser(__doc__, batch_size=8)
    options.add_argument("--do_random_rotate", action="store_false")
    options.add_argument("--degree", type=float, default=2.5)
    options.add_argument("--size", type=int, default=320)
    args = options.parse_args()
    seed_all(23)
    training_samples = DataLoadPreprocess(
        args, "train", transform=transforms.Compose([ToTensor("train")])
    )
    loader = DataLoader(training_samples, args.batch_size, shuffle=True, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for sample_batched in recorder.epoch(loader):
            assert sample_batched["depth"].shape[1] == 1
    recorder.finish()
