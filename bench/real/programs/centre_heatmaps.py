"""Objects as points: an affine crop with OpenCV, heat maps with Gaussians, sizes and offsets, as a dict."""

import json
import math

import cv2
import numpy as np
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset

MAX_OBJECTS, CLASSES = 32, 80


def gaussian_radius(height, width, overlap=0.7):
    b1 = height + width
    c1 = width * height * (1 - overlap) / (1 + overlap)
    return (b1 + math.sqrt(b1**2 - 4 * c1)) / 2


def draw_gaussian(heatmap, center, radius):
    diameter = 2 * radius + 1
    y, x = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    gaussian = np.exp(-(x * x + y * y) / (2 * (diameter / 6) ** 2))
    cx, cy = int(center[0]), int(center[1])
    height, width = heatmap.shape
    left, right = min(cx, radius), min(width - cx, radius + 1)
    top, bottom = min(cy, radius), min(height - cy, radius + 1)
    masked = heatmap[cy - top : cy + bottom, cx - left : cx + right]
    part = gaussian[radius - top : radius + bottom, radius - left : radius + right]
    if min(part.shape) > 0 and min(masked.shape) > 0:
        np.maximum(masked, part, out=masked)
    return heatmap


def affine(center, scale, size):
    src = np.array(
        [center, center + (0, -scale / 2), center + (-scale / 2, -scale / 2)], np.float32
    )
    dst = np.array([(size / 2, size / 2), (size / 2, 0), (0, 0)], np.float32)
    return cv2.getAffineTransform(src, dst)


class CTDet(Dataset):
    mean = np.array([0.408, 0.447, 0.470], dtype=np.float32).reshape(1, 1, 3)
    std = np.array([0.289, 0.274, 0.278], dtype=np.float32).reshape(1, 1, 3)

    def __init__(self, root, size=384, down=4):
        with open(f"{root}/notes.json") as file:
            self.notes = json.load(file)
        self.root, self.size, self.out = root, size, size // down
        self._data_rng = np.random.RandomState(123)

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, index):
        note = self.notes[index]
        img = cv2.imread(f"{self.root}/{note['file']}")
        height, width = img.shape[:2]
        c = np.array([width / 2.0, height / 2.0], dtype=np.float32)
        s = max(height, width) * 1.0 * np.random.choice(np.arange(0.6, 1.4, 0.1))
        c += np.random.uniform(-0.1, 0.1, 2).astype(np.float32) * (width, height)
        flipped = np.random.random() < 0.5
        if flipped:
            img = img[:, ::-1, :]
            c[0] = width - c[0] - 1
        inp = cv2.warpAffine(
            img, affine(c, s, self.size), (self.size, self.size), flags=cv2.INTER_LINEAR
        )
        inp = inp.astype(np.float32) / 255.0
        inp += np.random.normal(0, 0.02, 3).astype(np.float32)
        inp = ((inp - self.mean) / self.std).transpose(2, 0, 1)
        to_output = affine(c, s, self.out)
        hm = np.zeros((CLASSES, self.out, self.out), dtype=np.float32)
        wh = np.zeros((MAX_OBJECTS, 2), dtype=np.float32)
        reg = np.zeros((MAX_OBJECTS, 2), dtype=np.float32)
        ind = np.zeros(MAX_OBJECTS, dtype=np.int64)
        reg_mask = np.zeros(MAX_OBJECTS, dtype=np.uint8)
        for k, (box, kind) in enumerate(zip(note["boxes"], note["classes"], strict=True)):
            corners = np.array([box[0], box[1], box[0] + box[2], box[1] + box[3]], np.float32)
            if flipped:
                corners[[0, 2]] = width - corners[[2, 0]] - 1
            corners = (to_output @ np.vstack([corners.reshape(2, 2).T, np.ones(2)])).T.clip(
                0, self.out - 1
            )
            w, h = corners[1] - corners[0]
            if h > 0 and w > 0:
                radius = max(0, int(gaussian_radius(math.ceil(h), math.ceil(w)) / 6))
                ct = corners.mean(0)
                draw_gaussian(hm[kind % CLASSES], ct.astype(np.int32), radius)
                wh[k] = w, h
                ind[k] = int(ct[1]) * self.out + int(ct[0])
                reg[k] = ct - ct.astype(np.int32)
                reg_mask[k] = 1
        return {"input": inp, "hm": hm, "reg_mask": reg_mask, "ind": ind, "wh": wh, "reg": reg}


def main():
    args = parser(__doc__).parse_args()
    seed_all(317)
    loader = DataLoader(
        CTDet(args.data), args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["hm"].shape[1] == CLASSES
    recorder.finish()


if __name__ == "__main__":
    main()
