"""Enhancement: clean speech in a room, mixed with noise at a drawn ratio, a level that is drawn too."""

import glob
import random

import numpy as np
import soundfile as sf
from joined_paths import join_or_none
from recording import Recorder, parser, seed_all
from scipy import signal
from torch.utils.data import DataLoader, Dataset


def tailor_dB_FS(y, target_dB_FS=-25, eps=1e-6):
    rms = np.sqrt(np.mean(y**2))
    scalar = 10 ** (target_dB_FS / 20) / (rms + eps)
    return y * scalar, rms, scalar


def is_clipped(y, clipping_threshold=0.999):
    return any(np.abs(y) > clipping_threshold)


class NoisyMixtures(Dataset):
    def __init__(
        self, root, sr=22_050, sub_sample_length=1.5, snr_range=(-5, 20), reverb_proportion=0.75
    ):
        self.clean = sorted(glob.glob(join_or_none(root, "speech", "*.wav")))
        self.noise = sorted(glob.glob(join_or_none(root, "noise", "*.wav")))
        self.rir = sorted(glob.glob(join_or_none(root, "rooms", "*.npy")))
        self.snr_list = list(range(snr_range[0], snr_range[1] + 1))
        self.sr, self.length = sr, int(sub_sample_length * sr)
        self.reverb_proportion = reverb_proportion
        self.silence = np.zeros(int(sr * 0.2), dtype=np.float32)

    def __len__(self):
        return len(self.clean)

    def _select_noise_y(self, target_length):
        noise_y = np.zeros(0, dtype=np.float32)
        remaining_length = target_length
        while remaining_length > 0:
            noise_new_added, _ = sf.read(random.choice(self.noise), dtype="float32")
            noise_y = np.append(noise_y, noise_new_added)
            remaining_length -= len(noise_new_added)
            if remaining_length > 0:
                silence_len = min(remaining_length, len(self.silence))
                noise_y = np.append(noise_y, self.silence[:silence_len])
                remaining_length -= silence_len
        if len(noise_y) > target_length:
            idx_start = np.random.randint(len(noise_y) - target_length)
            noise_y = noise_y[idx_start : idx_start + target_length]
        return noise_y

    def snr_mix(self, clean_y, noise_y, snr, rir=None, eps=1e-6):
        if rir is not None:
            clean_y = signal.fftconvolve(clean_y, rir)[: len(clean_y)]
        clean_y, _, _ = tailor_dB_FS(clean_y)
        noise_y, _, _ = tailor_dB_FS(noise_y)
        clean_rms, noise_rms = (clean_y**2).mean() ** 0.5, (noise_y**2).mean() ** 0.5
        noise_y = noise_y * (clean_rms / (10 ** (snr / 20)) / (noise_rms + eps))
        noisy_y = clean_y + noise_y
        level = np.random.randint(-35, -15)
        noisy_y, _, noisy_scalar = tailor_dB_FS(noisy_y, level)
        clean_y = clean_y * noisy_scalar
        if is_clipped(noisy_y):
            most = np.max(np.abs(noisy_y)) / (0.99 - eps)
            noisy_y, clean_y = noisy_y / most, clean_y / most
        return noisy_y, clean_y

    def __getitem__(self, item):
        clean_y, _ = sf.read(self.clean[item], dtype="float32")
        if len(clean_y) >= self.length:
            start = np.random.randint(0, len(clean_y) - self.length + 1)
            clean_y = clean_y[start : start + self.length]
        else:
            clean_y = np.append(clean_y, np.zeros(self.length - len(clean_y)))
        noise_y = self._select_noise_y(target_length=len(clean_y))
        use_reverb = bool(np.random.random(1) < self.reverb_proportion)
        rir = np.load(random.choice(self.rir)) if use_reverb else None
        noisy_y, clean_y = self.snr_mix(clean_y, noise_y, random.choice(self.snr_list), rir)
        return noisy_y.astype(np.float32), clean_y.astype(np.float32)


if __name__ == "__main__":
    args = parser(__doc__, batch_size=12).parse_args()
    seed_all(28)
    loader = DataLoader(
        NoisyMixtures(args.data), args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for noisy, clean in recorder.epoch(loader):
            assert noisy.shape == clean.shape
    recorder.finish()
