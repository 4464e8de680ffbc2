"""Optical flow: pairs of frames and dense flow, jittered, scaled, flipped, cropped; worker seeds of its own."""

import os.path as osp
import random
from glob import glob

import cv2
import numpy as np
import torch
import torch.utils.data as data
from PIL import Image
from recording import Recorder, parser, seed_all
from torchvision.transforms import ColorJitter

cv2.setNumThreads(0)
cv2.ocl.setUseOpenCL(False)


def read_flow(fn):
    with open(fn, "rb") as f:
        magic = np.fromfile(f, np.float32, count=1)
        if magic != 202021.25:
            print("Magic number incorrect. Invalid .flo file")
            return None
        w = int(np.fromfile(f, np.int32, count=1)[0])
        h = int(np.fromfile(f, np.int32, count=1)[0])
        return np.resize(np.fromfile(f, np.float32, count=2 * w * h), (h, w, 2))


class FlowAugmentor:
    def __init__(self, crop_size, min_scale=-0.2, max_scale=0.5):
        self.crop_size = crop_size
        self.min_scale, self.max_scale = min_scale, max_scale
        self.photo_aug = ColorJitter(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.5 / 3.14)

    def color_transform(self, img1, img2):
        if np.random.rand() < 0.2:
            img1 = np.array(self.photo_aug(Image.fromarray(img1)), dtype=np.uint8)
            img2 = np.array(self.photo_aug(Image.fromarray(img2)), dtype=np.uint8)
        else:
            stack = np.concatenate([img1, img2], axis=0)
            stack = np.array(self.photo_aug(Image.fromarray(stack)), dtype=np.uint8)
            img1, img2 = np.split(stack, 2, axis=0)
        return img1, img2

    def eraser_transform(self, img1, img2, bounds=(50, 100)):
        ht, wd = img1.shape[:2]
        if np.random.rand() < 0.5:
            mean_color = np.mean(img2.reshape(-1, 3), axis=0)
            for _ in range(np.random.randint(1, 3)):
                x0, y0 = np.random.randint(0, wd), np.random.randint(0, ht)
                dx, dy = np.random.randint(*bounds), np.random.randint(*bounds)
                img2[y0 : y0 + dy, x0 : x0 + dx, :] = mean_color
        return img1, img2

    def spatial_transform(self, img1, img2, flow):
        ht, wd = img1.shape[:2]
        least = np.maximum((self.crop_size[0] + 8) / float(ht), (self.crop_size[1] + 8) / float(wd))
        scale = np.clip(2 ** np.random.uniform(self.min_scale, self.max_scale), least, None)
        if np.random.rand() < 0.8:
            img1 = cv2.resize(img1, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
            img2 = cv2.resize(img2, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
            flow = cv2.resize(flow, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
            flow = flow * [scale, scale]
        if np.random.rand() < 0.5:
            img1, img2, flow = img1[:, ::-1], img2[:, ::-1], flow[:, ::-1] * [-1.0, 1.0]
        y0 = np.random.randint(0, img1.shape[0] - self.crop_size[0])
        x0 = np.random.randint(0, img1.shape[1] - self.crop_size[1])
        part = (slice(y0, y0 + self.crop_size[0]), slice(x0, x0 + self.crop_size[1]))
        return img1[part], img2[part], flow[part]

    def __call__(self, img1, img2, flow):
        img1, img2 = self.color_transform(img1, img2)
        img1, img2 = self.eraser_transform(img1, img2)
        parts = self.spatial_transform(img1, img2, flow)
        return [np.ascontiguousarray(part) for part in parts]


class FlowDataset(data.Dataset):
    def __init__(self, root, aug_params=None):
        self.augmentor = FlowAugmentor(**aug_params) if aug_params is not None else None
        self.init_seed = False
        images = sorted(glob(osp.join(root, "*.ppm")))
        self.image_list = list(zip(images[::2], images[1::2], strict=True))
        self.flow_list = sorted(glob(osp.join(root, "*.flo")))

    def __getitem__(self, index):
        if not self.init_seed:
            worker_info = torch.utils.data.get_worker_info()
            if worker_info is not None:
                torch.manual_seed(worker_info.id)
                np.random.seed(worker_info.id)
                random.seed(worker_info.id)
                self.init_seed = True
        index = index % len(self.image_list)
        flow = np.array(read_flow(self.flow_list[index])).astype(np.float32)
        img1, img2 = (
            np.array(Image.open(f)).astype(np.uint8)[..., :3] for f in self.image_list[index]
        )
        if self.augmentor is not None:
            img1, img2, flow = self.augmentor(img1, img2, flow)
        img1 = torch.from_numpy(img1).permute(2, 0, 1).float()
        img2 = torch.from_numpy(img2).permute(2, 0, 1).float()
        flow = torch.from_numpy(flow).permute(2, 0, 1).float()
        valid = (flow[0].abs() < 1000) & (flow[1].abs() < 1000)
        return img1, img2, flow, valid.float()

    def __rmul__(self, v):
        self.flow_list = v * self.flow_list
        self.image_list = v * self.image_list
        return self

    def __len__(self):
        return len(self.image_list)


if __name__ == "__main__":
    args = parser(__doc__, batch_size=6).parse_args()
    seed_all(1234)
    train_dataset = 3 * FlowDataset(f"{args.data}/flow", {"crop_size": [320, 448]})
    loader = data.DataLoader(
        train_dataset, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(loader):
            pass
    recorder.finish()
