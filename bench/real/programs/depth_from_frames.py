"""Depth without labels: three frames of a clip in four sizes each, plain and jittered, in a dict by tuples."""

import os
import random

import numpy as np
import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils import data
from torchvision import transforms


def pil_loader(path):
    with open(path, "rb") as f:
        with Image.open(f) as img:
            return img.convert("RGB")


class MonoDataset(data.Dataset):
    def __init__(self, data_path, height, width, frame_idxs, num_scales, is_train=False):
        super().__init__()
        self.data_path = data_path
        self.filenames = [
            (clip, number)
            for clip in sorted(os.listdir(data_path))
            for number in range(1, len(os.listdir(os.path.join(data_path, clip))) - 1, 4)
        ]
        self.height, self.width, self.num_scales = height, width, num_scales
        self.interp = Image.LANCZOS
        self.frame_idxs = frame_idxs
        self.is_train = is_train
        self.loader = pil_loader
        self.to_tensor = transforms.ToTensor()
        self.brightness = self.contrast = self.saturation = (0.8, 1.2)
        self.hue = (-0.1, 0.1)
        self.K = np.array(
            [[0.58, 0, 0.5, 0], [0, 1.92, 0.5, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=np.float32
        )
        self.resize = {}
        for i in range(self.num_scales):
            s = 2**i
            self.resize[i] = transforms.Resize(
                (self.height // s, self.width // s), interpolation=self.interp
            )

    def preprocess(self, inputs, color_aug):
        for k in list(inputs):
            if "color" in k:
                n, im, i = k
                for i in range(self.num_scales):
                    inputs[(n, im, i)] = self.resize[i](inputs[(n, im, i - 1)])
        for k in list(inputs):
            f = inputs[k]
            if "color" in k:
                n, im, i = k
                inputs[(n, im, i)] = self.to_tensor(f)
                inputs[(n + "_aug", im, i)] = self.to_tensor(color_aug(f))

    def __len__(self):
        return len(self.filenames)

    def get_color(self, clip, number, do_flip):
        color = self.loader(os.path.join(self.data_path, clip, f"img_{number:05}.jpg"))
        if do_flip:
            color = color.transpose(Image.FLIP_LEFT_RIGHT)
        return color

    def __getitem__(self, index):
        inputs = {}
        do_color_aug = self.is_train and random.random() > 0.5
        do_flip = self.is_train and random.random() > 0.5
        clip, number = self.filenames[index]
        for i in self.frame_idxs:
            inputs[("color", i, -1)] = self.get_color(clip, number + i, do_flip)
        for scale in range(self.num_scales):
            K = self.K.copy()
            K[0, :] *= self.width // (2**scale)
            K[1, :] *= self.height // (2**scale)
            inputs[("K", scale)] = torch.from_numpy(K)
            inputs[("inv_K", scale)] = torch.from_numpy(np.linalg.pinv(K))
        if do_color_aug:
            color_aug = transforms.ColorJitter(
                self.brightness, self.contrast, self.saturation, self.hue
            )
        else:
            color_aug = lambda x: x  # noqa: E731
        self.preprocess(inputs, color_aug)
        for i in self.frame_idxs:
            del inputs[("color", i, -1)]
            del inputs[("color_aug", i, -1)]
        return inputs


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(24)
    dataset = MonoDataset(f"{args.data}/frames", 192, 256, [0, -1, 1], 4, is_train=True)
    loader = data.DataLoader(
        dataset, args.batch_size, True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for inputs in recorder.epoch(loader):
            assert ("color", 0, 3) in inputs
    recorder.finish()


if __name__ == "__main__":
    main()
