"""Language model: documents in one memory map with an index, samples that span documents, three maps of indices."""

import hashlib
import os
import struct

import numpy as np
from made_here import made
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def make_corpus(folder, rng):
    lengths = rng.integers(20, 900, 1200)
    (rng.zipf(1.3, int(lengths.sum())) % 32_000).astype(np.uint16).tofile(folder / "corpus.bin")
    pointers = np.concatenate([[0], np.cumsum(lengths[:-1] * 2)])
    (folder / "corpus.idx").write_bytes(
        b"MMIDIDX\0\0"
        + struct.pack("<QBQ", 1, 8, len(lengths))
        + lengths.astype("<i4").tobytes()
        + pointers.astype("<i8").tobytes()
    )


class MMapIndexedDataset:
    def __init__(self, path):
        self._path = path
        self._init()

    def _init(self):
        raw = open(self._path + ".idx", "rb").read()
        assert raw[:9] == b"MMIDIDX\0\0"
        _, _, count = struct.unpack_from("<QBQ", raw, 9)
        self.sizes = np.frombuffer(raw, "<i4", count, 26)
        self.pointers = np.frombuffer(raw, "<i8", count, 26 + 4 * count)
        self._buffer_map = np.memmap(self._path + ".bin", mode="r", order="C")
        self._buffer = memoryview(self._buffer_map)

    def __getstate__(self):
        return self._path

    def __setstate__(self, state):
        self._path = state
        self._init()

    def get(self, idx, offset=0, length=None):
        size = self.sizes[idx] - offset if length is None else length
        return np.frombuffer(
            self._buffer, np.uint16, int(size), int(self.pointers[idx]) + offset * 2
        )


class GPTDataset(Dataset):
    def __init__(self, indexed, folder, num_samples, seq_length=512, seed=1234):
        self.indexed, self.seq = indexed, seq_length
        name = hashlib.md5(f"{num_samples} {seq_length} {seed}".encode()).hexdigest()
        paths = [os.path.join(folder, f"{name}_{k}.npy") for k in ("doc", "sample", "shuffle")]
        if not all(os.path.exists(p) for p in paths):
            for p, a in zip(
                paths, self._build(num_samples, np.random.RandomState(seed)), strict=False
            ):
                np.save(p + f".{os.getpid()}.npy", a)
                os.replace(p + f".{os.getpid()}.npy", p)
        self.doc_idx, self.sample_idx, self.shuffle_idx = (
            np.load(p, allow_pickle=True, mmap_mode="r") for p in paths
        )

    def _build(self, num_samples, rng):
        tokens = int(self.indexed.sizes.sum())
        epochs = -(-num_samples * self.seq // tokens)
        doc_idx = np.tile(np.arange(len(self.indexed.sizes), dtype=np.int32), epochs)
        rng.shuffle(doc_idx)
        sample_idx, doc, offset = [(0, 0)], 0, 0
        total = (epochs * tokens - 1) // self.seq
        for _ in range(total):
            remaining = self.seq + 1
            while remaining != 0:
                have = self.indexed.sizes[doc_idx[doc]] - offset
                remaining -= have
                if remaining <= 0:
                    offset += remaining + have - 1
                    remaining = 0
                else:
                    doc, offset = doc + 1, 0
            sample_idx.append((doc, int(offset)))
        shuffle_idx = np.arange(total)
        rng.shuffle(shuffle_idx)
        return doc_idx, np.array(sample_idx), shuffle_idx

    def __len__(self):
        return self.sample_idx.shape[0] - 1

    def __getitem__(self, idx):
        idx = self.shuffle_idx[idx]
        (first, start), (last, end) = self.sample_idx[idx], self.sample_idx[idx + 1]
        if first == last:
            sample = self.indexed.get(self.doc_idx[first], start, end - start + 1)
        else:
            parts = [self.indexed.get(self.doc_idx[first], start)]
            parts += [self.indexed.get(self.doc_idx[i]) for i in range(first + 1, last)]
            parts.append(self.indexed.get(self.doc_idx[last], 0, end + 1))
            sample = np.concatenate(parts)
        return {"text": np.array(sample, dtype=np.int64)}


class MegatronPretrainingSampler:
    def __init__(self, total, consumed, micro_batch):
        self.total, self.consumed, self.micro = total, consumed, micro_batch

    def __len__(self):
        return self.total

    def __iter__(self):
        batch = []
        for idx in range(self.consumed, self.total):
            batch.append(idx)
            if len(batch) == self.micro:
                yield batch
                batch = []


if __name__ == "__main__":
    args = parser(__doc__, batch_size=4).parse_args()
    seed_all(28)
    folder = made(args.data, "corpus", make_corpus)
    dataset = GPTDataset(MMapIndexedDataset(str(folder / "corpus")), str(folder), 800)
    recorder = Recorder()
    for _ in range(args.epochs):
        sampler = MegatronPretrainingSampler(len(dataset), 200, args.batch_size)
        loader = DataLoader(
            dataset, batch_sampler=sampler, num_workers=args.workers, pin_memory=True
        )
        for batch in recorder.epoch(loader):
            tokens = batch["text"][:, :-1].contiguous()
            assert tokens.shape[1] == 512
    recorder.finish()
