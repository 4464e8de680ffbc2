"""A single-shot detector: photometric distortion, expansion and crops by overlap, in numpy and OpenCV."""

import json
import types

import cv2
import numpy as np
import torch
from numpy import random
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def jaccard(box_a, box_b):
    most = np.minimum(box_a[:, 2:], box_b[2:])
    least = np.maximum(box_a[:, :2], box_b[:2])
    inter = np.clip(most - least, 0, np.inf)
    inter = inter[:, 0] * inter[:, 1]
    area = lambda b: (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])  # noqa: E731
    return inter / (area(box_a) + area(box_b) - inter)


class Lambda:
    def __init__(self, lambd):
        assert isinstance(lambd, types.LambdaType)
        self.lambd = lambd

    def __call__(self, img, boxes=None, labels=None):
        return self.lambd(img, boxes, labels)


class PhotometricDistort:
    def __call__(self, image, boxes, labels):
        image = image.astype(np.float32)
        if random.randint(2):
            image += random.uniform(-32, 32)
        if random.randint(2):
            image *= random.uniform(0.5, 1.5)
        image = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
        if random.randint(2):
            image[:, :, 1] *= random.uniform(0.5, 1.5)
        if random.randint(2):
            image[:, :, 0] = (image[:, :, 0] + random.uniform(-18.0, 18.0)) % 360
        return cv2.cvtColor(image, cv2.COLOR_HSV2BGR), boxes, labels


class Expand:
    def __init__(self, mean):
        self.mean = mean

    def __call__(self, image, boxes, labels):
        if random.randint(2):
            return image, boxes, labels
        height, width, depth = image.shape
        ratio = random.uniform(1, 2.5)
        left, top = (
            random.uniform(0, width * ratio - width),
            random.uniform(0, height * ratio - height),
        )
        canvas = np.zeros((int(height * ratio), int(width * ratio), depth), dtype=image.dtype)
        canvas[:, :, :] = self.mean
        canvas[int(top) : int(top + height), int(left) : int(left + width)] = image
        return canvas, boxes + (int(left), int(top), int(left), int(top)), labels


class RandomSampleCrop:
    options = (None, (0.1, None), (0.3, None), (0.7, None), (None, None))

    def __call__(self, image, boxes, labels):
        height, width, _ = image.shape
        while True:
            mode = self.options[random.randint(len(self.options))]
            if mode is None:
                return image, boxes, labels
            least = -np.inf if mode[0] is None else mode[0]
            for _ in range(50):
                w, h = random.uniform(0.3 * width, width), random.uniform(0.3 * height, height)
                if h / w < 0.5 or h / w > 2:
                    continue
                left, top = random.uniform(width - w), random.uniform(height - h)
                rect = np.array([int(left), int(top), int(left + w), int(top + h)])
                if jaccard(boxes, rect).min() < least:
                    continue
                centers = (boxes[:, :2] + boxes[:, 2:]) / 2.0
                mask = ((rect[:2] < centers) & (rect[2:] > centers)).all(1)
                if not mask.any():
                    continue
                crop = image[rect[1] : rect[3], rect[0] : rect[2], :]
                kept = boxes[mask].copy()
                kept[:, :2] = np.maximum(kept[:, :2], rect[:2]) - rect[:2]
                kept[:, 2:] = np.minimum(kept[:, 2:], rect[2:]) - rect[:2]
                return crop, kept, labels[mask]


class Detection(Dataset):
    def __init__(self, root, size, mean):
        self.root, self.size, self.mean = root, size, mean
        self.notes = json.load(open(f"{root}/notes.json"))
        to_float = Lambda(lambda i, b, k: (i.astype(np.float32), b, k))
        self.steps = [to_float, PhotometricDistort(), Expand(mean), RandomSampleCrop()]

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, index):
        note = self.notes[index]
        image = cv2.imread(f"{self.root}/{note['file']}")
        boxes = np.array(note["boxes"], np.float32)
        boxes[:, 2:] += boxes[:, :2]
        labels = np.array(note["classes"])
        for step in self.steps:
            image, boxes, labels = step(image, boxes, labels)
        height, width, _ = image.shape
        if random.randint(2):
            image = image[:, ::-1]
            boxes = boxes[:, [2, 1, 0, 3]] * (-1, 1, -1, 1) + (width, 0, width, 0)
        image = cv2.resize(image, (self.size, self.size)) - self.mean
        target = np.hstack((boxes / (width, height, width, height), labels[:, None]))
        image = image[:, :, (2, 1, 0)].astype(np.float32)
        return torch.from_numpy(image).permute(2, 0, 1), target


def detection_collate(batch):
    return torch.stack([s[0] for s in batch], 0), [torch.FloatTensor(s[1]) for s in batch]


def main():
    args = parser(__doc__).parse_args()
    seed_all(10)
    mean = np.array((104, 117, 123), dtype=np.float32)
    loader = DataLoader(
        Detection(args.data, 300, mean), args.batch_size, num_workers=args.workers, shuffle=True,
        collate_fn=detection_collate,
    )  # fmt: skip
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(loader):
            pass
    recorder.finish()


if __name__ == "__main__":
    main()
