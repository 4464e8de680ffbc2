"""Detection with OpenCV: a client reads encoded bytes, imdecode, a drawn scale, mirrored, normalised, padded."""

import json

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class FileClient:
    def __init__(self, prefix):
        self.prefix = prefix

    def get(self, name):
        with open(f"{self.prefix}/{name}", "rb") as f:
            return f.read()


def imfrombytes(content, flag=cv2.IMREAD_COLOR):
    return cv2.imdecode(np.frombuffer(content, np.uint8), flag)


class LoadImageFromFile:
    def __init__(self, client, to_float32=False):
        self.client, self.to_float32 = client, to_float32

    def __call__(self, results):
        img = imfrombytes(self.client.get(results["filename"]))
        if self.to_float32:
            img = img.astype(np.float32)
        results.update(img=img, ori_shape=img.shape)
        return results


class Resize:
    def __init__(self, scales, keep_ratio=True):
        self.scales = scales

    def __call__(self, results):
        long_edge, short_edge = self.scales[np.random.randint(len(self.scales))]
        h, w = results["img"].shape[:2]
        factor = min(long_edge / max(h, w), short_edge / min(h, w))
        size = int(w * factor + 0.5), int(h * factor + 0.5)
        results["img"] = cv2.resize(results["img"], size, interpolation=cv2.INTER_LINEAR)
        results["boxes"] = results["boxes"] * factor
        return results


class RandomFlip:
    def __init__(self, prob=0.5):
        self.prob = prob

    def __call__(self, results):
        if np.random.rand() < self.prob:
            width = results["img"].shape[1]
            results["img"] = cv2.flip(results["img"], 1)
            boxes = results["boxes"].copy()
            boxes[:, 0::2] = width - results["boxes"][:, 2::-2]
            results["boxes"] = boxes
        return results


class Normalize:
    def __init__(self, mean, std):
        self.mean = np.array(mean, np.float64).reshape(1, -1)
        self.stdinv = 1 / np.array(std, np.float64).reshape(1, -1)

    def __call__(self, results):
        img = results["img"].astype(np.float32)
        cv2.cvtColor(img, cv2.COLOR_BGR2RGB, img)
        cv2.subtract(img, self.mean, img)
        cv2.multiply(img, self.stdinv, img)
        results["img"] = img
        return results


class Detection(Dataset):
    def __init__(self, root, transforms):
        with open(f"{root}/notes.json") as file:
            self.notes = json.load(file)
        self.transforms = transforms

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, index):
        note = self.notes[index]
        boxes = np.array(note["boxes"], np.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        results = {"filename": note["file"], "boxes": boxes}
        for transform in self.transforms:
            results = transform(results)
        img = np.ascontiguousarray(results["img"].transpose(2, 0, 1))
        return torch.from_numpy(img), torch.from_numpy(results["boxes"])


def collate(batch):
    height = max(img.shape[1] for img, _ in batch)
    width = max(img.shape[2] for img, _ in batch)
    padded = torch.zeros(len(batch), 3, -(-height // 32) * 32, -(-width // 32) * 32)
    for to, (img, _) in zip(padded, batch, strict=True):
        to[:, : img.shape[1], : img.shape[2]] = img
    return padded, [boxes for _, boxes in batch]


if __name__ == "__main__":
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(42)
    pipeline = [
        LoadImageFromFile(FileClient(args.data)),
        Resize([(480, 288), (480, 320), (480, 352)]),
        RandomFlip(),
        Normalize([123.675, 116.28, 103.53], [58.395, 57.12, 57.375]),
    ]
    loader = DataLoader(
        Detection(args.data, pipeline), args.batch_size, shuffle=True,
        num_workers=args.workers, collate_fn=collate,
    )  # fmt: skip
    recorder = Recorder()
    for _ in range(args.epochs):
        for _img, _boxes in recorder.epoch(loader):
            pass
    recorder.finish()
