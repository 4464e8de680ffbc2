"""Speech of Hugging Face's Audio feature, read at access: a random second of each, noise on it."""

import io
import random

import numpy as np
import soundfile
import torch
from datasets import Audio, Dataset, disable_progress_bars
from told import tell
from torch.utils.data import DataLoader

RATE = 8_000


def encoded(pitch: int) -> bytes:
    """FLAC, of between one and two seconds."""
    time = np.arange(RATE + 300 * pitch) / RATE
    file = io.BytesIO()
    soundfile.write(file, 0.5 * np.sin(2 * np.pi * 110 * pitch * time), RATE, format="FLAC")
    return file.getvalue()


def hear(rows: dict) -> dict:
    waves = []
    for audio in rows["audio"]:
        wave, rate = soundfile.read(io.BytesIO(audio["bytes"]), dtype="float32")
        start = random.randrange(len(wave) - rate + 1)
        second = torch.from_numpy(wave[start : start + rate])
        waves.append(second + 0.01 * torch.randn(rate))
    return {"wave": waves, "pitch": rows["pitch"]}


if __name__ == "__main__":
    torch.manual_seed(15)
    random.seed(15)
    disable_progress_bars()
    pitches = list(range(1, 21))
    rows = {
        "audio": [{"path": f"{pitch}.flac", "bytes": encoded(pitch)} for pitch in pitches],
        "pitch": pitches,
    }
    data = Dataset.from_dict(rows).cast_column("audio", Audio(RATE, decode=False))
    data.set_transform(hear)
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=2)
    for epoch in range(2):
        for step, batch in enumerate(loader):
            tell((epoch, step), len(batch["pitch"]), (batch["wave"], batch["pitch"]))
