"""Masked words: a word-piece tokeniser of the program's own, whole sentences, masks drawn in the collate."""

import json
import logging
import unicodedata
from collections import Counter
from dataclasses import dataclass

import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset, RandomSampler

logger = logging.getLogger(__name__)


class WordPieces:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

    def __init__(self, texts, size=2000):
        pieces = Counter()
        for text in texts:
            for word in text.lower().split():
                pieces.update(word[:k] for k in range(1, len(word) + 1))
                pieces.update("##" + word[k : k + 3] for k in range(1, len(word)))
                pieces.update("##" + letter for letter in word)
        names = self.specials + [piece for piece, _ in pieces.most_common(size)]
        self.vocab = {name: number for number, name in enumerate(names)}

    def tokenize(self, text):
        out = []
        text = unicodedata.normalize("NFD", text.lower())
        for word in text.split():
            start = 0
            while start < len(word):
                end = len(word)
                while end > start:
                    piece = ("##" if start else "") + word[start:end]
                    if piece in self.vocab:
                        out.append(self.vocab[piece])
                        break
                    end -= 1
                else:
                    out.append(1)
                    end = start + 1
                start = end
        return out


class LineByLineTextDataset(Dataset):
    def __init__(self, tokenizer, path, block_size):
        logger.info("Creating features from dataset file at %s", path)
        with open(path, encoding="utf-8") as f:
            self.lines = [json.loads(line)["text"] for line in f]
        self.tokenizer, self.block_size = tokenizer, block_size

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        ids = self.tokenizer.tokenize(self.lines[i])[: self.block_size - 2]
        return {"input_ids": torch.tensor([2, *ids, 3], dtype=torch.long)}


@dataclass
class DataCollatorForLanguageModeling:
    size: int
    probability: float = 0.15

    def __call__(self, examples):
        rows = [example["input_ids"] for example in examples]
        batch = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        inputs, labels = self.mask_tokens(batch)
        return {"input_ids": inputs, "labels": labels, "attention_mask": (batch != 0).long()}

    def mask_tokens(self, inputs):
        labels = inputs.clone()
        probability_matrix = torch.full(labels.shape, self.probability)
        probability_matrix.masked_fill_(inputs < 5, value=0.0)
        masked_indices = torch.bernoulli(probability_matrix).bool()
        labels[~masked_indices] = -100
        replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked_indices
        inputs[replaced] = 4
        random = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked_indices & ~replaced
        words = torch.randint(self.size, labels.shape, dtype=torch.long)
        inputs[random] = words[random]
        return inputs, labels


def main():
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(36)
    path = f"{args.data}/articles.jsonl"
    with open(path) as file:
        tokenizer = WordPieces(
            [json.loads(line)["text"] for _, line in zip(range(100), file, strict=False)]
        )
    dataset = LineByLineTextDataset(tokenizer, path, block_size=256)
    loader = DataLoader(
        dataset, args.batch_size, sampler=RandomSampler(dataset), num_workers=args.workers,
        collate_fn=DataCollatorForLanguageModeling(len(tokenizer.vocab)),
    )  # fmt: skip
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(loader):
            assert batch["labels"].shape == batch["input_ids"].shape
    recorder.finish()


if __name__ == "__main__":
    main()
