"""OpenCV in __getitem__, with NumPy's random numbers."""

import glob
import random
import sys

import cv2
import numpy as np
import torch
from told import tell
from torch.utils.data import DataLoader, Dataset

cv2.setNumThreads(0)


class Photos(Dataset):
    def __init__(self, root, size):
        self.files, self.size = sorted(glob.glob(f"{root}/*/*.jpg")), size

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        image = cv2.cvtColor(cv2.imread(self.files[i]), cv2.COLOR_BGR2RGB)
        image = cv2.resize(image, (self.size + 8, self.size + 8), interpolation=cv2.INTER_LINEAR)
        y, x = np.random.randint(0, 9, 2)
        image = image[y : y + self.size, x : x + self.size]
        if random.random() < 0.5:
            image = cv2.flip(image, 1)
        if np.random.rand() < 0.5:
            angle = float(torch.empty(1).uniform_(-15, 15))
            turn = cv2.getRotationMatrix2D((self.size / 2, self.size / 2), angle, 1.0)
            image = cv2.warpAffine(image, turn, (self.size, self.size))
        image = (image.astype(np.float32) / 255.0 - 0.45) / 0.225
        return {"image": image.transpose(2, 0, 1), "file": self.files[i]}


def main(root):
    torch.manual_seed(9)
    loader = DataLoader(Photos(root, 32), 4, shuffle=True, num_workers=2, drop_last=True)
    for epoch in range(2):
        for step, batch in enumerate(loader):
            tell((epoch, step), len(batch["file"]), batch)


if __name__ == "__main__":
    main(sys.argv[1])
