"""Keywords: sound resampled to 16 kHz, shifted and mixed with noise, a log-mel picture with masked bands."""

import glob
import os
import random
from functools import cache

import numpy as np
import scipy.signal
import soundfile as sf
import torch
from recording import Recorder, parser, seed_all
from speech_spectrograms import mel_filters
from torch.utils.data import DataLoader, Dataset

RATE = 16_000


@cache
def filters():
    return mel_filters(RATE, 512, 64)


def load_audio(path):
    audio, rate = sf.read(path, dtype="float32")
    if rate != RATE:
        audio = scipy.signal.resample_poly(audio, RATE, rate).astype(np.float32)
    return audio


def fix_length(audio, length=RATE * 2):
    if len(audio) >= length:
        return audio[:length]
    return np.pad(audio, (0, length - len(audio)))


class Keywords(Dataset):
    def __init__(self, root, train=True):
        self.files = sorted(glob.glob(os.path.join(root, "speech", "*.wav")))
        self.noises = [
            load_audio(path) for path in sorted(glob.glob(os.path.join(root, "noise", "*.wav")))
        ]
        self.classes = sorted({os.path.basename(f).split("_")[0] for f in self.files})
        self.train = train

    def __len__(self):
        return len(self.files)

    def augment(self, audio):
        shift = random.randint(-1600, 1600)
        audio = np.roll(audio, shift)
        if random.random() < 0.8:
            noise = random.choice(self.noises)
            start = random.randint(0, len(noise) - len(audio))
            audio = audio + random.uniform(0, 0.2) * noise[start : start + len(audio)]
        return audio * random.uniform(0.7, 1.3)

    def features(self, audio):
        _, _, spectrum = scipy.signal.stft(
            audio, RATE, nperseg=400, noverlap=240, nfft=512, padded=False
        )
        power = np.abs(spectrum) ** 2
        return np.log(filters() @ power + 1e-6).astype(np.float32)

    def __getitem__(self, index):
        path = self.files[index]
        audio = fix_length(load_audio(path))
        if self.train:
            audio = self.augment(audio)
        mel = self.features(audio)
        if self.train:
            for axis, most in ((0, 12), (1, 30)):
                width = np.random.randint(0, most)
                start = np.random.randint(0, mel.shape[axis] - width)
                if axis == 0:
                    mel[start : start + width] = 0
                else:
                    mel[:, start : start + width] = 0
        label = self.classes.index(os.path.basename(path).split("_")[0])
        return torch.from_numpy(mel)[None], label


def main():
    args = parser(__doc__, batch_size=12).parse_args()
    seed_all(27)
    loader = DataLoader(
        Keywords(args.data), args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for mels, _ in recorder.epoch(loader):
            assert mels.shape[1:3] == (1, 64)
    recorder.finish()


if __name__ == "__main__":
    main()
