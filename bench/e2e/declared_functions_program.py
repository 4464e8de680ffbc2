"""Epochs of speech or of pictures, whose deterministic beginning is one method: a log-mel spectrogram, or a decoded
and letterboxed picture. With --declared it is declared with headrace.cached."""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import wave

import cv2
import headrace
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real" / "programs"))
from recording import Recorder, seed_all  # noqa: E402

RATE, SIZE, HOP, MELS, FRAMES, SIDE = 16_000, 512, 160, 80, 100, 416


def mel_bank() -> torch.Tensor:
    """Triangles over the bins of a spectrum [MELS, SIZE / 2 + 1]."""
    points = np.linspace(0, 2595 * np.log10(1 + RATE / 1400), MELS + 2)
    bins = np.floor((SIZE + 1) * 700 * (10 ** (points / 2595) - 1) / RATE).astype(int)
    bank = np.zeros((MELS, SIZE // 2 + 1), np.float32)
    for row, (a, b, c) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        bank[row, a : b + 1] = np.linspace(0, 1, b - a + 1)
        bank[row, b : c + 1] = np.linspace(1, 0, c - b + 1)
    return torch.from_numpy(bank)


class Speech(Dataset):
    def __init__(self, folder: pathlib.Path) -> None:
        self.paths = sorted(map(str, folder.glob("*.wav")))
        self.bank, self.window = mel_bank(), torch.hann_window(SIZE)

    def __len__(self) -> int:
        return len(self.paths)

    def made(self, index: int) -> torch.Tensor:
        with wave.open(self.paths[index]) as file:
            sound = np.frombuffer(file.readframes(file.getnframes()), np.int16)
        samples = torch.from_numpy(sound.astype(np.float32) / 32768)
        spectrum = torch.stft(samples, SIZE, HOP, window=self.window, return_complex=True).abs()
        return torch.log(self.bank @ spectrum**2 + 1e-6)

    def __getitem__(self, index: int) -> torch.Tensor:
        made = self.made(index)
        begin = random.randrange(made.shape[1] - FRAMES)
        part = made[:, begin : begin + FRAMES].clone()
        first = int(torch.randint(0, MELS - 8, (1,)))
        part[first : first + 8] = 0
        return part


class Pages(Dataset):
    def __init__(self, folder: pathlib.Path) -> None:
        self.paths = sorted(map(str, folder.glob("*.jpg")))

    def __len__(self) -> int:
        return len(self.paths)

    def made(self, path: str) -> np.ndarray:
        picture = cv2.imread(path)
        scale = SIDE / max(picture.shape[:2])
        height, width = (round(side * scale) for side in picture.shape[:2])
        page = np.full((SIDE, SIDE, 3), 114, np.uint8)
        top, left = (SIDE - height) // 2, (SIDE - width) // 2
        page[top : top + height, left : left + width] = cv2.resize(
            picture, (width, height), interpolation=cv2.INTER_AREA
        )
        return page

    def __getitem__(self, index: int) -> torch.Tensor:
        page = self.made(self.paths[index])
        if random.random() < 0.5:
            page = page[:, ::-1]
        gain = np.random.uniform(0.7, 1.3)
        page = np.clip(page.astype(np.float32) * gain, 0, 255).astype(np.uint8)
        return torch.from_numpy(np.ascontiguousarray(page.transpose(2, 0, 1)))


def make_data(folder: pathlib.Path, count: int) -> None:
    """Drawn from one seed: `count` sounds of 8 to 12 s, and as many photographs of 1280 x 960."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for number in range(count):
        sound = (rng.normal(size=int(RATE * rng.uniform(8, 12))) * 3000).astype("<i2")
        with wave.open(str(folder / f"{number:04}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(sound.tobytes())
        rough = rng.integers(0, 256, (60, 80, 3), np.uint8)
        picture = cv2.resize(rough, (1280, 960), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(folder / f"{number:04}.jpg"), picture, [cv2.IMWRITE_JPEG_QUALITY, 90])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--what", choices=("speech", "pages"), required=True)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--declared", action="store_true")
    args = parser.parse_args()
    kind = Speech if args.what == "speech" else Pages
    if args.declared:
        headrace.cached(kind.made)
    seed_all(3)
    cv2.setNumThreads(0)
    loader = DataLoader(kind(args.data), 8, shuffle=True, num_workers=2)
    recorder = Recorder()
    for _ in range(args.epochs):
        for _batch in recorder.epoch(loader):
            pass
    recorder.finish()


if __name__ == "__main__":
    main()
