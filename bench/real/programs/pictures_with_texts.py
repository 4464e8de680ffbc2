"""Contrast of pictures and texts: a table of both, texts cut into numbers by rules, two augmentations."""

import html
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.sampler import RandomSampler
from torchvision.transforms import (
    CenterCrop,
    Compose,
    Normalize,
    RandomResizedCrop,
    Resize,
    ToTensor,
)

CONTEXT = 77


def basic_clean(text):
    return html.unescape(html.unescape(text)).strip()


def pairs_of(word):
    return {(a, b) for a, b in zip(word, word[1:], strict=False)}


class SimpleTokenizer:
    def __init__(self, texts):
        letters = sorted(set("".join(texts)))
        self.encoder = {letter: number for number, letter in enumerate(letters)}
        merges = sorted(
            {pair for text in texts[:50] for word in text.split() for pair in pairs_of(word)}
        )
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}
        for first, second in merges:
            self.encoder.setdefault(first + second, len(self.encoder))
        self.pat = re.compile(r"[a-z]+|[0-9]|[^\sa-z0-9]+", re.IGNORECASE)
        self.start, self.end = len(self.encoder), len(self.encoder) + 1

    def bpe(self, token):
        word = tuple(token)
        while len(word) > 1:
            pair = min(pairs_of(word), key=lambda p: self.ranks.get(p, float("inf")))
            if pair not in self.ranks:
                break
            merged, i = [], 0
            while i < len(word):
                if i < len(word) - 1 and (word[i], word[i + 1]) == pair:
                    merged.append(word[i] + word[i + 1])
                    i += 2
                else:
                    merged.append(word[i])
                    i += 1
            word = tuple(merged)
        return word

    def encode(self, text):
        out = []
        for token in re.findall(self.pat, basic_clean(text).lower()):
            out.extend(self.encoder.get(piece, 0) for piece in self.bpe(token))
        return out


class CsvDataset(Dataset):
    def __init__(self, input_filename, root, transforms: Callable, img_key, caption_key):
        logging.debug(f"Loading csv data from {input_filename}.")
        df = pd.read_csv(input_filename)
        self.root = root
        self.images = df[img_key].tolist()[::4]
        self.captions = df[caption_key].tolist()[::4]
        self.transforms = transforms
        self.tokenizer = SimpleTokenizer(self.captions)
        logging.debug("Done loading data.")

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, idx):
        images = self.transforms(Image.open(f"{self.root}/{self.images[idx]}"))
        tokens = [
            self.tokenizer.start,
            *self.tokenizer.encode(str(self.captions[idx])),
            self.tokenizer.end,
        ]
        texts = torch.zeros(CONTEXT, dtype=torch.long)
        texts[: min(len(tokens), CONTEXT)] = torch.tensor(tokens[:CONTEXT])
        return images, texts


@dataclass
class DataInfo:
    dataloader: DataLoader
    sampler: RandomSampler


def image_transform(n_px, is_train):
    normalize = Normalize((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
    convert = lambda image: image.convert("RGB")  # noqa: E731
    if is_train:
        crop = RandomResizedCrop(n_px, scale=(0.9, 1.0), interpolation=Image.BICUBIC)
        return Compose([crop, convert, ToTensor(), normalize])
    return Compose(
        [
            Resize(n_px, interpolation=Image.BICUBIC),
            CenterCrop(n_px),
            convert,
            ToTensor(),
            normalize,
        ]
    )


def main():
    args = parser(__doc__).parse_args()
    seed_all(45)
    dataset = CsvDataset(
        f"{args.data}/captions.csv", args.data, image_transform(224, True), "image", "caption"
    )
    sampler = RandomSampler(dataset)
    info = DataInfo(
        DataLoader(
            dataset, args.batch_size, sampler=sampler, num_workers=args.workers, drop_last=True
        ),
        sampler,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, texts in recorder.epoch(info.dataloader):
            assert len(images) == len(texts)
    recorder.finish()


if __name__ == "__main__":
    main()
