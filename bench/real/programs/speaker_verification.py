"""Speakers: random pieces of utterances, as many for each speaker, with pre-emphasis and filter banks."""

import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy.fft
import torch
from recording import Recorder, parser, seed_all
from scipy.io import wavfile
from speech_spectrograms import mel_filters
from torch.utils.data import DataLoader, Dataset

RATE, FRAMES, HOP, N_FFT = 22_050, 160, 220, 1024


class RandomCycler:
    """Items in random order, none again before the others have been."""

    def __init__(self, source):
        self.all_items = list(source)
        self.next_items = []

    def sample(self, count):
        out = []
        while count > 0:
            if not self.next_items:
                self.next_items = random.sample(self.all_items, len(self.all_items))
            taken = self.next_items[:count]
            self.next_items = self.next_items[count:]
            out.extend(taken)
            count -= len(taken)
        return out


class Speaker:
    def __init__(self, name, files):
        self.name = name
        self.files = files

    def random_partial(self, n_frames):
        _, wave = wavfile.read(random.choice(self.files))
        need = (n_frames - 1) * HOP + N_FFT
        if len(wave) < need:
            wave = np.pad(wave, (0, need - len(wave)), mode="wrap")
        start = random.randint(0, len(wave) - need)
        return wave[start : start + need].astype(np.float32) / 32768


class SpeakerDataset(Dataset):
    def __init__(self, root: Path, per_speaker=5):
        by_name = defaultdict(list)
        for file in sorted((root / "speech").glob("*.wav")):
            by_name[file.name.split("_")[0]].append(str(file))
        self.speakers = [Speaker(name, files) for name, files in by_name.items()]
        self.per_speaker = per_speaker
        self.window = np.hamming(N_FFT).astype(np.float32)
        self.banks = mel_filters(RATE, N_FFT, 40)

    def __len__(self):
        return len(self.speakers) * 6

    def features(self, wave):
        wave = np.append(wave[0], wave[1:] - 0.97 * wave[:-1])
        frames = np.lib.stride_tricks.sliding_window_view(wave, N_FFT)[::HOP]
        power = np.abs(scipy.fft.rfft(frames * self.window, axis=-1)) ** 2
        mel = np.log10(np.maximum(power @ self.banks.T, 1e-8))
        return (mel - mel.mean(0)).astype(np.float32)

    def __getitem__(self, index):
        speaker = self.speakers[index % len(self.speakers)]
        parts = [self.features(speaker.random_partial(FRAMES)) for _ in range(self.per_speaker)]
        return torch.from_numpy(np.stack(parts)), index % len(self.speakers)


def main():
    args = parser(__doc__, batch_size=6).parse_args()
    seed_all(29)
    dataset = SpeakerDataset(Path(args.data))
    order = RandomCycler(range(len(dataset))).sample(len(dataset))
    loader = DataLoader(
        dataset, args.batch_size, sampler=order, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for parts, _ in recorder.epoch(loader):
            assert parts.shape[1:] == (5, FRAMES, 40)
    recorder.finish()


if __name__ == "__main__":
    main()
