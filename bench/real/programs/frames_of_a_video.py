"""Video files read by cv2.VideoCapture: frames at drawn places, a cache of decoded clips by lru_cache."""

import random
from functools import lru_cache

import cv2
import numpy as np
import torch
from made_here import made
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def make_videos(folder, rng):
    for n in range(16):
        out = cv2.VideoWriter(
            str(folder / f"v{n:02}.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 12, (160, 120)
        )
        base = rng.integers(0, 256, (15, 20, 3)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
        for t in range(int(rng.integers(30, 60))):
            out.write(np.roll(base, 3 * t, 1))
        out.release()


def get_frame_count(path):
    cap = cv2.VideoCapture(path)
    count = int(cap.get(cv2.CAP_PROP_FRAME_COUNT))
    cap.release()
    return count


def read_frames(path, indices):
    cap = cv2.VideoCapture(path)
    frames = []
    for i in indices:
        cap.set(cv2.CAP_PROP_POS_FRAMES, i)
        ok, frame = cap.read()
        frames.append(
            cv2.cvtColor(frame, cv2.COLOR_BGR2RGB) if ok else np.zeros((120, 160, 3), np.uint8)
        )
    cap.release()
    return np.stack(frames)


@lru_cache(maxsize=4)
def whole(path):
    return read_frames(path, range(get_frame_count(path)))


class Clips(Dataset):
    def __init__(self, folder, frames=8, cached=False):
        self.paths = sorted(map(str, folder.glob("*.avi")))
        self.counts = [get_frame_count(p) for p in self.paths]
        self.frames, self.cached = frames, cached

    def __len__(self):
        return len(self.paths) * 3

    def __getitem__(self, i):
        path, count = self.paths[i % len(self.paths)], self.counts[i % len(self.paths)]
        stride = random.choice([1, 2, 3])
        start = random.randint(0, count - self.frames * stride)
        indices = list(range(start, start + self.frames * stride, stride))
        clip = whole(path)[indices] if self.cached else read_frames(path, indices)
        if np.random.rand() < 0.5:
            clip = clip[:, :, ::-1]
        x, y = np.random.randint(0, 48), np.random.randint(0, 8)
        clip = clip[:, y : y + 112, x : x + 112]
        return torch.from_numpy(clip.transpose(3, 0, 1, 2).astype(np.float32) / 255), i, stride


if __name__ == "__main__":
    args = parser(__doc__, batch_size=4).parse_args()
    seed_all(38)
    folder = made(args.data, "videos", make_videos)
    loaders = [
        DataLoader(Clips(folder, cached=c), args.batch_size, shuffle=True, num_workers=args.workers)
        for c in (False, True)
    ]
    recorder = Recorder()
    for epoch in range(args.epochs):
        for clips, *_ in recorder.epoch(loaders[epoch % 2]):
            assert clips.shape[2] == 8
    recorder.finish()
