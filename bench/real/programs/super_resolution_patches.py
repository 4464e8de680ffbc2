"""Super-resolution: PNG files with OpenCV, cut to a multiple, scaled down by a cubic kernel, random patches."""

import glob
import math
import random

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def cubic(x):
    absx = np.abs(x)
    absx2, absx3 = absx**2, absx**3
    return (1.5 * absx3 - 2.5 * absx2 + 1) * (absx <= 1) + (
        -0.5 * absx3 + 2.5 * absx2 - 4 * absx + 2
    ) * ((absx > 1) & (absx <= 2))


def weights_indices(in_length, out_length, scale):
    width = 4 / scale
    x = np.linspace(1, out_length, out_length)
    u = x / scale + 0.5 * (1 - 1 / scale)
    left = np.floor(u - width / 2)
    count = math.ceil(width) + 2
    indices = left[:, None] + np.arange(count)
    weights = cubic((u[:, None] - indices) * scale) * scale
    weights /= weights.sum(1, keepdims=True)
    return weights, np.clip(indices.astype(int) - 1, 0, in_length - 1)


def imresize_np(img, scale):
    h, w, _ = img.shape
    wy, iy = weights_indices(h, math.ceil(h * scale), scale)
    wx, ix = weights_indices(w, math.ceil(w * scale), scale)
    out = np.einsum("oktc,ok->otc", img[iy], wy)
    return np.einsum("hokc,ok->hoc", out[:, ix], wx)


def imread_uint(path, n_channels=3):
    img = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    return cv2.cvtColor(img, cv2.COLOR_BGR2RGB) if n_channels == 3 else img


def modcrop(img, scale):
    h, w = img.shape[:2]
    return img[: h - h % scale, : w - w % scale].copy()


def augment_img(img, mode):
    if mode >= 4:
        img = np.flipud(img)
    return np.rot90(img, k=mode % 4)


def single2tensor3(img):
    return torch.from_numpy(np.ascontiguousarray(img)).permute(2, 0, 1).float()


class DatasetSR(Dataset):
    def __init__(self, opt):
        self.opt = opt
        self.sf = opt.get("scale", 2)
        self.patch_size = opt.get("H_size", 96)
        self.L_size = self.patch_size // self.sf
        self.paths_H = sorted(glob.glob(opt["dataroot_H"] + "/*.png")) * 3
        assert self.paths_H, "Error: H path is empty."

    def __getitem__(self, index):
        H_path = self.paths_H[index]
        img_H = imread_uint(H_path).astype(np.float32) / 255.0
        img_H = modcrop(img_H, self.sf)
        H, W, _ = img_H.shape
        top, left = random.randint(0, max(0, H - 288)), random.randint(0, max(0, W - 288))
        img_H = img_H[top : top + 288, left : left + 288]
        img_L = imresize_np(img_H, 1 / self.sf)
        H, W, _ = img_L.shape
        rnd_h, rnd_w = random.randint(0, H - self.L_size), random.randint(0, W - self.L_size)
        img_L = img_L[rnd_h : rnd_h + self.L_size, rnd_w : rnd_w + self.L_size, :]
        rnd_h, rnd_w = int(rnd_h * self.sf), int(rnd_w * self.sf)
        img_H = img_H[rnd_h : rnd_h + self.patch_size, rnd_w : rnd_w + self.patch_size, :]
        mode = random.randint(0, 7)
        img_L, img_H = augment_img(img_L, mode), augment_img(img_H, mode)
        return {"L": single2tensor3(img_L), "H": single2tensor3(img_H), "H_path": H_path}

    def __len__(self):
        return len(self.paths_H)


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(14)
    train_set = DatasetSR({"dataroot_H": f"{args.data}/sharp", "scale": 2, "H_size": 96})
    train_loader = DataLoader(
        train_set, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for data in recorder.epoch(train_loader):
            assert data["H"].shape[-1] == 2 * data["L"].shape[-1]
    recorder.finish()


if __name__ == "__main__":
    main()
