"""Captioning: a picture with one of its sentences, a vocabulary that is counted first, rows sorted by length."""

import json
import pickle
from collections import Counter
from pathlib import Path

import torch
import torchvision.transforms as transforms
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


class Vocabulary:
    def __init__(self):
        self.word2idx = {}
        self.idx2word = {}
        self.idx = 0

    def add_word(self, word):
        if word not in self.word2idx:
            self.word2idx[word] = self.idx
            self.idx2word[self.idx] = word
            self.idx += 1

    def __call__(self, word):
        if word not in self.word2idx:
            return self.word2idx["<unk>"]
        return self.word2idx[word]

    def __len__(self):
        return len(self.word2idx)


def build_vocab(notes, threshold=2):
    counter = Counter()
    for note in notes:
        for caption in note["captions"]:
            counter.update(caption.lower().split())
    vocab = Vocabulary()
    for word in [
        "<pad>",
        "<start>",
        "<end>",
        "<unk>",
        *(w for w, c in counter.items() if c >= threshold),
    ]:
        vocab.add_word(word)
    return pickle.loads(pickle.dumps(vocab))


class CaptionDataset(Dataset):
    def __init__(self, root, notes, vocab, transform=None):
        self.root = Path(root)
        self.notes = notes
        self.ids = [(n, c) for n in range(len(notes)) for c in range(2)]
        self.vocab = vocab
        self.transform = transform

    def __getitem__(self, index):
        number, which = self.ids[index]
        note = self.notes[number]
        image = Image.open(self.root / note["file"]).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        tokens = note["captions"][which].lower().split()
        caption = [
            self.vocab("<start>"),
            *(self.vocab(token) for token in tokens),
            self.vocab("<end>"),
        ]
        return image, torch.Tensor(caption)

    def __len__(self):
        return len(self.ids)


def collate_fn(data):
    data.sort(key=lambda x: len(x[1]), reverse=True)
    images, captions = zip(*data, strict=True)
    images = torch.stack(images, 0)
    lengths = [len(cap) for cap in captions]
    targets = torch.zeros(len(captions), max(lengths)).long()
    for i, cap in enumerate(captions):
        end = lengths[i]
        targets[i, :end] = cap[:end]
    return images, targets, lengths


def main():
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(44)
    notes = json.loads((Path(args.data) / "notes.json").read_text())
    transform = transforms.Compose(
        [
            transforms.RandomCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    dataset = CaptionDataset(args.data, notes, build_vocab(notes), transform)
    loader = DataLoader(
        dataset, args.batch_size, shuffle=True, num_workers=args.workers, collate_fn=collate_fn
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, captions, lengths in recorder.epoch(loader):
            assert len(images) == len(captions) == len(lengths)
    recorder.finish()


if __name__ == "__main__":
    main()
