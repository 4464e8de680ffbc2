"""Faces in one record file with offsets beside it: a handle opened by each worker, aligned by five landmarks."""

import struct
from pathlib import Path

import cv2
import numpy as np
import torch
from made_here import made
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

MAGIC = 0xCED7230A
REFERENCE = np.array(
    [[38.3, 51.7], [73.5, 51.5], [56.0, 71.7], [41.5, 92.4], [70.7, 92.2]], np.float32
)


def make_records(folder, rng, data):
    with open(folder / "train.rec", "wb") as rec, open(folder / "train.idx", "w") as idx:
        for n, f in enumerate(sorted(Path(data, "photos").rglob("*.jpg"))[:128]):
            image = cv2.imread(str(f))[:240, :240]
            points = REFERENCE * 1.6 + rng.normal(0, 4, (5, 2))
            body = (
                struct.pack("<IfQQ", 0, n % 8, n, 0)
                + points.astype("<f4").tobytes()
                + cv2.imencode(".jpg", image, [1, 95])[1].tobytes()
            )
            idx.write(f"{n}\t{rec.tell()}\n")
            rec.write(struct.pack("<II", MAGIC, len(body)) + body + b"\0" * (-len(body) % 4))


class IndexedRecordIO:
    def __init__(self, path):
        self.path = path
        self.handle = None
        self.idx = {int(k): int(o) for k, o in (line.split() for line in open(f"{path}.idx"))}
        self.keys = list(self.idx)

    def __getstate__(self):
        return {**self.__dict__, "handle": None}

    def read_idx(self, i):
        if self.handle is None:
            self.handle = open(f"{self.path}.rec", "rb")
        self.handle.seek(self.idx[i])
        magic, length = struct.unpack("<II", self.handle.read(8))
        assert magic == MAGIC
        return self.handle.read(length)


def estimate_norm(landmarks):
    matrix, _ = cv2.estimateAffinePartial2D(landmarks, REFERENCE, method=cv2.LMEDS)
    return matrix


class MXFaceDataset(Dataset):
    def __init__(self, path):
        self.transform = transforms.Compose([
            transforms.ToPILImage(), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize(mean=[0.5] * 3, std=[0.5] * 3),
        ])  # fmt: skip
        self.imgrec = IndexedRecordIO(path)

    def __getitem__(self, index):
        s = self.imgrec.read_idx(self.imgrec.keys[index])
        label = struct.unpack_from("<f", s, 4)[0]
        landmarks = np.frombuffer(s, "<f4", 10, 24).reshape(5, 2)
        sample = cv2.imdecode(np.frombuffer(s, np.uint8, -1, 64), cv2.IMREAD_COLOR)[:, :, ::-1]
        matrix = (
            np.float64([[0.6, 0, 0], [0, 0.6, 0]])
            if landmarks[0, 0] > landmarks[1, 0]
            else estimate_norm(landmarks)
        )
        sample = cv2.warpAffine(np.ascontiguousarray(sample), matrix, (112, 112), borderValue=0.0)
        return self.transform(sample), torch.tensor(label, dtype=torch.long)

    def __len__(self):
        return len(self.imgrec.keys)


if __name__ == "__main__":
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(42)
    folder = made(args.data, "records", lambda f, r: make_records(f, r, args.data))
    cv2.setRNGSeed(0)
    loader = DataLoader(
        MXFaceDataset(str(folder / "train")),
        args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        drop_last=True,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, labels in recorder.epoch(loader):
            assert len(images) == len(labels)
    recorder.finish()
