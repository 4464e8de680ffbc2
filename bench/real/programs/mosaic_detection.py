"""Detection with mosaics of four pictures, a random affine, colours in HSV; labels in text files."""

import glob
import logging
import math
import os
import random
from pathlib import Path

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset

LOGGER = logging.getLogger(__name__)
HYP = {"degrees": 0.0, "translate": 0.1, "scale": 0.5, "hsv": (0.015, 0.7, 0.4), "fliplr": 0.5}


def augment_hsv(im, hgain, sgain, vgain):
    r = np.random.uniform(-1, 1, 3) * [hgain, sgain, vgain] + 1
    hue, sat, val = cv2.split(cv2.cvtColor(im, cv2.COLOR_BGR2HSV))
    x = np.arange(0, 256, dtype=r.dtype)
    lut_hue = ((x * r[0]) % 180).astype(im.dtype)
    lut_sat = np.clip(x * r[1], 0, 255).astype(im.dtype)
    lut_val = np.clip(x * r[2], 0, 255).astype(im.dtype)
    im_hsv = cv2.merge((cv2.LUT(hue, lut_hue), cv2.LUT(sat, lut_sat), cv2.LUT(val, lut_val)))
    cv2.cvtColor(im_hsv, cv2.COLOR_HSV2BGR, dst=im)


def random_affine(im, targets, border):
    height, width = im.shape[0] + border[0] * 2, im.shape[1] + border[1] * 2
    centre, rotate, shift = np.eye(3), np.eye(3), np.eye(3)
    centre[0, 2], centre[1, 2] = -im.shape[1] / 2, -im.shape[0] / 2
    s = random.uniform(1 - HYP["scale"], 1 + HYP["scale"])
    rotate[:2] = cv2.getRotationMatrix2D(
        angle=random.uniform(-HYP["degrees"], HYP["degrees"]), center=(0, 0), scale=s
    )
    shift[0, 2] = random.uniform(0.5 - HYP["translate"], 0.5 + HYP["translate"]) * width
    shift[1, 2] = random.uniform(0.5 - HYP["translate"], 0.5 + HYP["translate"]) * height
    matrix = shift @ rotate @ centre
    im = cv2.warpAffine(im, matrix[:2], dsize=(width, height), borderValue=(114, 114, 114))
    if n := len(targets):
        xy = np.ones((n * 4, 3))
        xy[:, :2] = targets[:, [1, 2, 3, 4, 1, 4, 3, 2]].reshape(n * 4, 2)
        xy = (xy @ matrix.T)[:, :2].reshape(n, 8)
        x, y = xy[:, [0, 2, 4, 6]], xy[:, [1, 3, 5, 7]]
        new = np.concatenate((x.min(1), y.min(1), x.max(1), y.max(1))).reshape(4, n).T
        new[:, [0, 2]], new[:, [1, 3]] = (
            new[:, [0, 2]].clip(0, width),
            new[:, [1, 3]].clip(0, height),
        )
        keep = (new[:, 2] - new[:, 0] > 2) & (new[:, 3] - new[:, 1] > 2)
        targets = targets[keep]
        targets[:, 1:5] = new[keep]
    return im, targets


class LoadImagesAndLabels(Dataset):
    def __init__(self, path, img_size=320, augment=True):
        self.im_files = sorted(
            glob.glob(os.path.join(path, "photos", "**", "*.jpg"), recursive=True)
        )
        stems = [f"{Path(f).parent.name}_{Path(f).stem}" for f in self.im_files]
        self.labels = [np.loadtxt(f"{path}/yolo/{s}.txt", dtype=np.float32, ndmin=2) for s in stems]
        self.img_size = img_size
        self.augment = augment
        self.mosaic_border = [-img_size // 2, -img_size // 2]
        self.indices = range(len(self.im_files))
        LOGGER.info(f"{len(self.im_files)} images found")

    def __len__(self):
        return len(self.im_files)

    def load_image(self, i):
        im = cv2.imread(self.im_files[i])
        assert im is not None, f"Image Not Found {self.im_files[i]}"
        h0, w0 = im.shape[:2]
        r = self.img_size / max(h0, w0)
        if r != 1:
            interp = cv2.INTER_LINEAR if (self.augment or r > 1) else cv2.INTER_AREA
            im = cv2.resize(im, (math.ceil(w0 * r), math.ceil(h0 * r)), interpolation=interp)
        return im, im.shape[:2]

    def load_mosaic(self, index):
        labels4, s = [], self.img_size
        yc, xc = (int(random.uniform(-x, 2 * s + x)) for x in self.mosaic_border)
        indices = [index] + random.choices(self.indices, k=3)
        random.shuffle(indices)
        img4 = np.full((s * 2, s * 2, 3), 114, dtype=np.uint8)
        for i, index in enumerate(indices):
            img, (h, w) = self.load_image(index)
            left, top = i % 2 == 0, i < 2
            x1a, x2a = (max(xc - w, 0), xc) if left else (xc, min(xc + w, s * 2))
            y1a, y2a = (max(yc - h, 0), yc) if top else (yc, min(yc + h, s * 2))
            x1b = w - (x2a - x1a) if left else 0
            y1b = h - (y2a - y1a) if top else 0
            img4[y1a:y2a, x1a:x2a] = img[y1b : y1b + y2a - y1a, x1b : x1b + x2a - x1a]
            labels = self.labels[index].copy()
            boxes = labels[:, 1:].copy()
            labels[:, 1:3] = (boxes[:, :2] - boxes[:, 2:] / 2) * (w, h) + (x1a - x1b, y1a - y1b)
            labels[:, 3:5] = (boxes[:, :2] + boxes[:, 2:] / 2) * (w, h) + (x1a - x1b, y1a - y1b)
            labels4.append(labels)
        labels4 = np.concatenate(labels4, 0)
        np.clip(labels4[:, 1:], 0, 2 * s, out=labels4[:, 1:])
        return random_affine(img4, labels4, self.mosaic_border)

    def __getitem__(self, index):
        img, labels = self.load_mosaic(index)
        augment_hsv(img, *HYP["hsv"])
        if random.random() < HYP["fliplr"]:
            img = np.fliplr(img)
            labels[:, [1, 3]] = img.shape[1] - labels[:, [3, 1]]
        labels_out = torch.zeros((len(labels), 6))
        if len(labels):
            labels_out[:, 1:] = torch.from_numpy(labels)
        img = np.ascontiguousarray(img.transpose((2, 0, 1))[::-1])
        return torch.from_numpy(img), labels_out, self.im_files[index]

    @staticmethod
    def collate_fn(batch):
        im, label, path = zip(*batch, strict=True)
        for i, lb in enumerate(label):
            lb[:, 0] = i
        return torch.stack(im, 0), torch.cat(label, 0), path


if __name__ == "__main__":
    opt = parser(__doc__).parse_args()
    seed_all(1)
    dataset = LoadImagesAndLabels(opt.data)
    loader = DataLoader(
        dataset,
        batch_size=opt.batch_size,
        shuffle=True,
        num_workers=opt.workers,
        collate_fn=LoadImagesAndLabels.collate_fn,
    )
    recorder = Recorder()
    for _ in range(opt.epochs):
        for imgs, _targets, _paths in recorder.epoch(loader):
            imgs = imgs.float() / 255
    recorder.finish()
