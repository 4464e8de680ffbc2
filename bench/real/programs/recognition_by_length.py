"""Speech recognition: raw waves, batches of like lengths by a sampler of its own, masks and labels."""

import json
import math
import random
from dataclasses import dataclass, field

import numpy as np
import soundfile
import torch
from recording import Recorder, parser, seed_all
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler


@dataclass
class Manifest:
    root: str
    vocabulary: dict = field(default_factory=dict)
    entries: list = field(default_factory=list)

    @classmethod
    def of(cls, root):
        made = cls(root)
        with open(f"{root}/speech.txt") as file:
            for line in file:
                name, text, _ = line.strip().split("|")
                path = f"{root}/speech/{name}"
                made.entries.append(
                    {"path": path, "text": text, "frames": soundfile.info(path).frames}
                )
        letters = sorted(set("".join(entry["text"] for entry in made.entries)))
        made.vocabulary = {letter: number for number, letter in enumerate(["<pad>", *letters])}
        return made


class Utterances(Dataset):
    def __init__(self, manifest: Manifest, normalize=True, speed=(0.9, 1.0, 1.1)):
        self.manifest, self.normalize, self.speed = manifest, normalize, speed

    def __len__(self):
        return len(self.manifest.entries)

    def __getitem__(self, index):
        entry = self.manifest.entries[index]
        wave, _ = soundfile.read(entry["path"], dtype="float32")
        factor = random.choice(self.speed)
        if factor != 1.0:
            places = np.arange(0, len(wave) - 1, factor)
            wave = np.interp(places, np.arange(len(wave)), wave).astype(np.float32)
        wave = torch.from_numpy(wave)
        if self.normalize:
            with torch.no_grad():
                wave = torch.nn.functional.layer_norm(wave, wave.shape)
        labels = torch.tensor([self.manifest.vocabulary[letter] for letter in entry["text"]])
        return {"input_values": wave, "labels": labels, "id": index}


class LengthSampler(Sampler):
    def __init__(self, lengths, batch_size, seed=0):
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, 0

    def __iter__(self):
        rng = random.Random(self.seed + self.epoch)
        order = sorted(
            range(len(self.lengths)), key=lambda i: self.lengths[i] + rng.uniform(0, 4000)
        )
        batches = [order[i : i + self.batch_size] for i in range(0, len(order), self.batch_size)]
        rng.shuffle(batches)
        self.epoch += 1
        yield from batches

    def __len__(self):
        return math.ceil(len(self.lengths) / self.batch_size)


@dataclass
class DataCollatorWithPadding:
    padding_value: float = 0.0
    label_padding: int = -100

    def __call__(self, features):
        waves = [f["input_values"] for f in features]
        batch = {
            "input_values": pad_sequence(waves, batch_first=True, padding_value=self.padding_value)
        }
        mask = torch.zeros_like(batch["input_values"], dtype=torch.long)
        for row, wave in enumerate(waves):
            mask[row, : len(wave)] = 1
        batch["attention_mask"] = mask
        labels = [f["labels"] for f in features]
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=self.label_padding)
        batch["ids"] = [f["id"] for f in features]
        return batch


def main():
    args = parser(__doc__, batch_size=8).parse_args()
    seed_all(30)
    manifest = Manifest.of(args.data)
    json.dumps(manifest.vocabulary)
    dataset = Utterances(manifest)
    sampler = LengthSampler([entry["frames"] for entry in manifest.entries], args.batch_size)
    loader = DataLoader(
        dataset,
        batch_sampler=sampler,
        collate_fn=DataCollatorWithPadding(),
        num_workers=args.workers,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["input_values"].shape == batch["attention_mask"].shape
    recorder.finish()


if __name__ == "__main__":
    main()
