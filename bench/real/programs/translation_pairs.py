"""Translation: byte pairs that are learned by a library, lazy tokens a sample, batches by a token budget."""

import random

import numpy as np
import torch
from recording import Recorder, parser, seed_all
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.utils.data import DataLoader, Dataset


def train_tokenizer(lines):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        special_tokens=["<pad>", "<unk>", "<s>", "</s>"], vocab_size=500, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


class LanguagePairs(Dataset):
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.pairs = [tuple(line.rstrip("\n").split("\t")) for line in file]
        self.tokenizer = train_tokenizer(side for pair in self.pairs[:400] for side in pair)
        self.sizes = np.array([len(source) for source, _ in self.pairs])

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        source, target = self.pairs[index]
        source, target = self.tokenizer.encode(source).ids, self.tokenizer.encode(target).ids
        return {
            "id": index,
            "source": torch.LongTensor([*source, 3]),
            "target": torch.LongTensor([2, *target, 3]),
        }


class TokenBatches:
    """Lists of indices with at most so many characters a batch, shuffled each epoch."""

    def __init__(self, sizes, max_tokens):
        self.sizes, self.max_tokens = sizes, max_tokens
        self.batches = []
        order = np.argsort(sizes, kind="mergesort")
        batch, longest = [], 0
        for index in order:
            longest = max(longest, sizes[index])
            if batch and longest * (len(batch) + 1) > max_tokens:
                self.batches.append(batch)
                batch, longest = [], sizes[index]
            batch.append(int(index))
        self.batches.append(batch)

    def __iter__(self):
        random.shuffle(self.batches)
        return iter(self.batches)

    def __len__(self):
        return len(self.batches)


def collate_tokens(values, pad=0, left_pad=False):
    size = max(v.size(0) for v in values)
    res = values[0].new(len(values), size).fill_(pad)
    for i, v in enumerate(values):
        res[i][size - len(v) :].copy_(v) if left_pad else res[i][: len(v)].copy_(v)
    return res


def collater(samples):
    source = collate_tokens([s["source"] for s in samples], left_pad=True)
    lengths = torch.LongTensor([s["source"].numel() for s in samples])
    lengths, order = lengths.sort(descending=True)
    target = collate_tokens([s["target"] for s in samples]).index_select(0, order)
    return {
        "id": torch.LongTensor([s["id"] for s in samples]).index_select(0, order),
        "ntokens": int(sum(len(s["target"]) for s in samples)),
        "net_input": {"src_tokens": source.index_select(0, order), "src_lengths": lengths},
        "target": target,
    }


if __name__ == "__main__":
    args = parser(__doc__).parse_args()
    seed_all(37)
    dataset = LanguagePairs(f"{args.data}/pairs.tsv")
    loader = DataLoader(
        dataset,
        batch_sampler=TokenBatches(dataset.sizes, 4000),
        collate_fn=collater,
        num_workers=args.workers,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for sample in recorder.epoch(loader):
            assert len(sample["id"]) == len(sample["target"])
    recorder.finish()
