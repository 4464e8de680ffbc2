"""Actions in video: one frame a segment, cropped and flipped alike as a group, stacked along channels."""

import os
import random

import numpy as np
import torch
import torchvision
from numpy.random import randint
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils import data


class VideoRecord:
    def __init__(self, row):
        self._data = row

    @property
    def path(self):
        return self._data[0]

    @property
    def num_frames(self):
        return int(self._data[1])

    @property
    def label(self):
        return int(self._data[2])


class GroupMultiScaleCrop:
    def __init__(self, input_size, scales=(1, 0.875, 0.75, 0.66)):
        self.scales, self.input_size = scales, (input_size, input_size)

    def __call__(self, img_group):
        image_w, image_h = img_group[0].size
        base = min(image_w, image_h)
        sizes = [int(base * x) for x in self.scales]
        pairs = [
            (h, w) for i, h in enumerate(sizes) for j, w in enumerate(sizes) if abs(i - j) <= 1
        ]
        crop_h, crop_w = random.choice(pairs)
        offset_w, offset_h = (
            random.randint(0, image_w - crop_w),
            random.randint(0, image_h - crop_h),
        )
        box = (offset_w, offset_h, offset_w + crop_w, offset_h + crop_h)
        return [img.crop(box).resize(self.input_size, Image.BILINEAR) for img in img_group]


class GroupRandomHorizontalFlip:
    def __call__(self, img_group):
        if random.random() < 0.5:
            return [img.transpose(Image.FLIP_LEFT_RIGHT) for img in img_group]
        return img_group


class Stack:
    def __call__(self, img_group):
        return np.concatenate([np.array(x) for x in img_group], axis=2)


class ToTorchFormatTensor:
    def __call__(self, pic):
        return torch.from_numpy(pic).permute(2, 0, 1).contiguous().float().div(255)


class GroupNormalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        rep_mean = self.mean * (tensor.size()[0] // len(self.mean))
        rep_std = self.std * (tensor.size()[0] // len(self.std))
        for t, m, s in zip(tensor, rep_mean, rep_std, strict=True):
            t.sub_(m).div_(s)
        return tensor


class SegmentDataSet(data.Dataset):
    def __init__(self, root_path, records, num_segments=8, new_length=1, transform=None):
        self.root_path, self.num_segments, self.new_length = root_path, num_segments, new_length
        self.transform = transform
        self.video_list = [VideoRecord(row) for row in records]

    def _load_image(self, directory, idx):
        return [
            Image.open(os.path.join(self.root_path, directory, f"img_{idx:05d}.jpg")).convert("RGB")
        ]

    def _sample_indices(self, record):
        average = (record.num_frames - self.new_length + 1) // self.num_segments
        return np.multiply(list(range(self.num_segments)), average) + randint(
            average, size=self.num_segments
        )

    def __getitem__(self, index):
        record = self.video_list[index]
        images = []
        for seg_ind in self._sample_indices(record):
            images.extend(self._load_image(record.path, int(seg_ind)))
        return self.transform(images), record.label

    def __len__(self):
        return len(self.video_list)


if __name__ == "__main__":
    args = parser(__doc__, batch_size=4).parse_args()
    seed_all(25)
    root = f"{args.data}/frames"
    records = [
        (clip, len(os.listdir(f"{root}/{clip}")), i % 4)
        for i, clip in enumerate(sorted(os.listdir(root)))
    ]
    transform = torchvision.transforms.Compose(
        [GroupMultiScaleCrop(224), GroupRandomHorizontalFlip(), Stack(), ToTorchFormatTensor(),
         GroupNormalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    )  # fmt: skip
    dataset = SegmentDataSet(root, records * 3, transform=transform)
    loader = data.DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, _ in recorder.epoch(loader):
            assert images.shape[1] == 24
    recorder.finish()
