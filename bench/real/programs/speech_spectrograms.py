"""Speech synthesis: wave files to mel spectrograms by torch's STFT, text to numbers, padded and sorted."""

import random

import numpy as np
import torch
import torch.utils.data
from recording import Recorder, parser, seed_all
from scipy.io.wavfile import read

SYMBOLS = "_-!'(),.:;? abcdefghijklmnopqrstuvwxyz"
_symbol_to_id = {s: i for i, s in enumerate(SYMBOLS)}
mel_basis = {}
hann_window = {}


def mel_filters(rate, n_fft, n_mels):
    def to_mel(hz):
        return 2595 * np.log10(1 + hz / 700)

    points = 700 * (10 ** (np.linspace(0, to_mel(rate / 2), n_mels + 2) / 2595) - 1)
    freqs = np.linspace(0, rate / 2, n_fft // 2 + 1)
    up = (freqs - points[:-2, None]) / (points[1:-1] - points[:-2])[:, None]
    down = (points[2:, None] - freqs) / (points[2:] - points[1:-1])[:, None]
    return np.maximum(0, np.minimum(up, down)).astype(np.float32)


def mel_spectrogram(y, n_fft=1024, num_mels=80, sampling_rate=22050, hop_size=256, win_size=1024):
    key = f"{num_mels}_{y.device}"
    if key not in mel_basis:
        mel_basis[key] = torch.from_numpy(mel_filters(sampling_rate, n_fft, num_mels))
        hann_window[str(y.device)] = torch.hann_window(win_size)
    pad = int((n_fft - hop_size) / 2)
    y = torch.nn.functional.pad(y.unsqueeze(1), (pad, pad), mode="reflect").squeeze(1)
    spec = torch.stft(
        y, n_fft, hop_length=hop_size, win_length=win_size, window=hann_window[str(y.device)],
        center=False, normalized=False, onesided=True, return_complex=True,
    )  # fmt: skip
    spec = torch.sqrt(spec.abs().pow(2) + 1e-9)
    return torch.log(torch.clamp(torch.matmul(mel_basis[key], spec), min=1e-5))


def load_wav_to_torch(full_path):
    sampling_rate, data = read(full_path)
    return torch.FloatTensor(data.astype(np.float32)), sampling_rate


class TextMelLoader(torch.utils.data.Dataset):
    def __init__(self, root, max_wav_value=32768.0, rate=22050):
        with open(f"{root}/speech.txt", encoding="utf-8") as f:
            self.audiopaths_and_text = [line.strip().split("|") for line in f]
        self.root, self.max_wav_value, self.rate = root, max_wav_value, rate
        random.seed(1234)
        random.shuffle(self.audiopaths_and_text)

    def get_mel(self, filename):
        audio, sampling_rate = load_wav_to_torch(f"{self.root}/speech/{filename}")
        if sampling_rate != self.rate:
            raise ValueError(f"{sampling_rate} SR doesn't match target {self.rate} SR")
        audio_norm = (audio / self.max_wav_value).unsqueeze(0)
        return torch.squeeze(mel_spectrogram(audio_norm), 0)

    def get_text(self, text):
        return torch.IntTensor([_symbol_to_id[s] for s in text.lower() if s in _symbol_to_id])

    def __getitem__(self, index):
        path, text, speaker = self.audiopaths_and_text[index]
        return self.get_text(text), self.get_mel(path), int(speaker)

    def __len__(self):
        return len(self.audiopaths_and_text)


class TextMelCollate:
    def __init__(self, n_frames_per_step=1):
        self.n_frames_per_step = n_frames_per_step

    def __call__(self, batch):
        input_lengths, order = torch.sort(
            torch.LongTensor([len(x[0]) for x in batch]), dim=0, descending=True
        )
        text_padded = torch.LongTensor(len(batch), int(input_lengths[0])).zero_()
        most = max(x[1].size(1) for x in batch)
        mel_padded = torch.FloatTensor(len(batch), batch[0][1].size(0), most).zero_()
        gate_padded = torch.FloatTensor(len(batch), most).zero_()
        output_lengths = torch.LongTensor(len(batch))
        for i, row in enumerate(order):
            text, mel, _ = batch[row]
            text_padded[i, : text.size(0)] = text
            mel_padded[i, :, : mel.size(1)] = mel
            gate_padded[i, mel.size(1) - 1 :] = 1
            output_lengths[i] = mel.size(1)
        return text_padded, input_lengths, mel_padded, gate_padded, output_lengths


if __name__ == "__main__":
    args = parser(__doc__, batch_size=12).parse_args()
    seed_all(1234)
    trainset = TextMelLoader(args.data)
    train_loader = torch.utils.data.DataLoader(
        trainset, num_workers=args.workers, shuffle=True, batch_size=args.batch_size,
        drop_last=True, collate_fn=TextMelCollate(),
    )  # fmt: skip
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(train_loader):
            pass
    recorder.finish()
