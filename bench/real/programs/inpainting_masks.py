"""Inpainting: pictures with drawn strokes and boxes to fill, in arrays of numpy, infinite by wrapping."""

import glob
import math
import os

import cv2
import numpy as np
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def make_random_irregular_mask(
    shape, max_angle=4, max_len=60, max_width=20, min_times=0, max_times=10
):
    height, width = shape
    mask = np.zeros((height, width), np.float32)
    times = np.random.randint(min_times, max_times + 1)
    for _ in range(times):
        start_x, start_y = np.random.randint(width), np.random.randint(height)
        for j in range(1 + np.random.randint(5)):
            angle = 0.01 + np.random.randint(max_angle)
            if j % 2 == 0:
                angle = 2 * 3.1415926 - angle
            length = 10 + np.random.randint(max_len)
            brush_w = 5 + np.random.randint(max_width)
            end_x = int(np.clip(start_x + length * math.sin(angle), 0, width))
            end_y = int(np.clip(start_y + length * math.cos(angle), 0, height))
            cv2.line(mask, (start_x, start_y), (end_x, end_y), 1.0, brush_w)
            start_x, start_y = end_x, end_y
    return mask[None, ...]


def make_random_rectangle_mask(shape, margin=10, least=30, most=100, max_times=3):
    height, width = shape
    mask = np.zeros((height, width), np.float32)
    for _ in range(np.random.randint(1, max_times + 1)):
        box_w, box_h = np.random.randint(least, most, 2)
        left = np.random.randint(margin, width - margin - box_w + 1)
        top = np.random.randint(margin, height - margin - box_h + 1)
        mask[top : top + box_h, left : left + box_w] = 1
    return mask[None, ...]


class MixedMaskGenerator:
    def __init__(self, irregular_proba=0.6, box_proba=0.4):
        probas = [irregular_proba, box_proba]
        self.gens = [make_random_irregular_mask, make_random_rectangle_mask]
        self.probas = np.array(probas, dtype="float32")
        self.probas /= self.probas.sum()

    def __call__(self, img):
        kind = np.random.choice(len(self.probas), p=self.probas)
        return self.gens[kind](img.shape[1:])


class InpaintingTrainDataset(Dataset):
    def __init__(self, indir, mask_generator, size=256):
        self.in_files = sorted(glob.glob(os.path.join(indir, "**", "*.jpg"), recursive=True))
        self.mask_generator = mask_generator
        self.size = size
        self.iter_i = 0

    def __len__(self):
        return len(self.in_files)

    def __getitem__(self, item):
        img = cv2.imread(self.in_files[item])
        img = cv2.cvtColor(img, cv2.COLOR_BGR2RGB)
        scale = self.size / min(img.shape[:2])
        img = cv2.resize(img, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        top = np.random.randint(img.shape[0] - self.size + 1)
        left = np.random.randint(img.shape[1] - self.size + 1)
        img = img[top : top + self.size, left : left + self.size]
        img = np.transpose(img, (2, 0, 1)).astype("float32") / 255
        mask = self.mask_generator(img)
        self.iter_i += 1
        return dict(image=img, mask=mask)


if __name__ == "__main__":
    args = parser(__doc__).parse_args()
    seed_all(47)
    dataset = InpaintingTrainDataset(f"{args.data}/photos", MixedMaskGenerator())
    loader = DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["image"].shape[-1] == batch["mask"].shape[-1]
    recorder.finish()
