"""Data sets of rows and windows of arrays in files."""

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


def write_tokens(folder: Path, count: int = 997, dtype: str = "<u2", header: int = 0) -> Path:
    path = folder / f"tokens{header}.bin"
    tokens = np.random.default_rng(5).integers(0, 60_000, count).astype(dtype)
    path.write_bytes(b"h" * header + tokens.tobytes())
    return path


class Blocks(Dataset):
    """Blocks of tokens, and the same one token later."""

    def __init__(self, data, block=16):
        self.data, self.block = data, block

    def __len__(self):
        return (len(self.data) - 1) // self.block

    def __getitem__(self, i):
        start = i * self.block
        x = torch.from_numpy(self.data[start : start + self.block].astype(np.int64))
        y = torch.from_numpy(self.data[start + 1 : start + 1 + self.block].astype(np.int64))
        return x, y


class Sliding(Dataset):
    """A window at each token, as a dict."""

    def __init__(self, data, block=16):
        self.data, self.block = data, block

    def __len__(self):
        return len(self.data) - self.block

    def __getitem__(self, index):
        chunk = torch.tensor(self.data[index : index + self.block + 1], dtype=torch.long)
        return {"input_ids": chunk[:-1], "labels": chunk[1:]}


class Checked(Blocks):
    """With the checks that people write."""

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        end = min((i + 1) * self.block, self.data.shape[0] - 1)
        window = np.asarray(self.data[int(i) * self.block : end], dtype=np.int64)
        return torch.as_tensor(window).long().contiguous()


class Rows(Dataset):
    """A row of each array."""

    def __init__(self, *arrays):
        self.arrays = arrays

    def __len__(self):
        return len(self.arrays[0])

    def __getitem__(self, i):
        return [torch.as_tensor(array[i]) for array in self.arrays]


class Backwards(Rows):
    def __getitem__(self, i):
        return torch.as_tensor(self.arrays[0][len(self) - 1 - i]), torch.tensor(
            self.arrays[0][i - i]
        )
