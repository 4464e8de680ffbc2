"""Text classification: a tokeniser of regular expressions, a vocabulary, offsets or padded rows."""

import json
import re
from collections import Counter
from functools import partial

import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataset import random_split

try:
    import regex
except ImportError:
    regex = re

PATTERN = regex.compile(r"""'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+|[^\sA-Za-z0-9]+|\s+""")


class Vocabulary:
    UNKNOWN = "<unk>"

    def __init__(self, counter, most=5000):
        self.itos = [self.UNKNOWN, "<pad>"] + [word for word, _ in counter.most_common(most)]
        self.stoi = {word: index for index, word in enumerate(self.itos)}

    def __getitem__(self, token):
        return self.stoi.get(token, 0)

    def __call__(self, tokens):
        return [self[token] for token in tokens]

    def __len__(self):
        return len(self.itos)


def ngrams(tokens, n):
    yield from tokens
    for i in range(len(tokens) - n + 1):
        yield " ".join(tokens[i : i + n])


def tokenize(line):
    return [token.strip().lower() for token in regex.findall(PATTERN, line)]


class Articles(Dataset):
    def __init__(self, path, n=2):
        self.rows = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                self.rows.append(json.loads(line))
        counter = Counter()
        for row in self.rows[:500]:
            counter.update(ngrams(tokenize(row["text"]), n))
        self.vocabulary = Vocabulary(counter)
        self.n = n

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        tokens = tokenize(row["title"] + " " + row["text"])
        return row["label"], torch.tensor(self.vocabulary(list(ngrams(tokens, self.n))))


def generate_batch(batch, most=512):
    label = torch.tensor([entry[0] for entry in batch])
    text = [entry[1][:most] for entry in batch]
    offsets = torch.tensor([0] + [len(entry) for entry in text][:-1]).cumsum(dim=0)
    return torch.cat(text), offsets, label


if __name__ == "__main__":
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(35)
    dataset = Articles(f"{args.data}/articles.jsonl")
    train_len = int(len(dataset) * 0.95)
    sub_train, _ = random_split(dataset, [train_len, len(dataset) - train_len])
    loader = DataLoader(
        sub_train, args.batch_size, shuffle=True, collate_fn=partial(generate_batch, most=400),
        num_workers=args.workers,
    )  # fmt: skip
    recorder = Recorder()
    for _ in range(args.epochs):
        for _text, offsets, cls in recorder.epoch(loader):
            assert len(offsets) == len(cls)
    recorder.finish()
