"""Data sets that open their file in __init__, as people write them."""

import io
import zipfile
from pathlib import Path

import h5py
import lmdb
import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

COUNT = 32


class Tokens(Dataset):
    """A language model's: blocks of a memory map of tokens, a part held back for validation."""

    def __init__(self, path, block=16):
        data = np.memmap(path, dtype=np.uint16, mode="r")
        self.train, self.val = data[: len(data) * 9 // 10], data[len(data) * 9 // 10 :]
        self.block = block

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        at = int(torch.randint(len(self.train) - self.block, ()))
        x = torch.from_numpy(self.train[at : at + self.block].astype(np.int64))
        y = torch.from_numpy(self.train[at + 1 : at + 1 + self.block].astype(np.int64))
        return x, y, int(self.val[index])


class Segmentation(Dataset):
    """Pictures and masks of a file of HDF5."""

    def __init__(self, path):
        self.file = h5py.File(path, "r")
        self.images = self.file["images"]

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index]).permute(2, 0, 1).float() / 255
        mask = torch.from_numpy(self.file["masks"][index])
        if torch.rand(()) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        return image, mask


class WordPictures(Dataset):
    """An OCR data set's, in LMDB."""

    def __init__(self, root):
        self.env = lmdb.open(
            root, max_readers=32, readonly=True, lock=False, readahead=False, meminit=False
        )
        with self.env.begin(write=False) as txn:
            self.count = int(txn.get(b"num-samples"))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        with self.env.begin(write=False) as txn:
            label = txn.get(f"label-{index + 1:09d}".encode()).decode()
            content = txn.get(f"image-{index + 1:09d}".encode())
        buffer = io.BytesIO()
        buffer.write(content)
        buffer.seek(0)
        return torch.from_numpy(np.array(Image.open(buffer).convert("L"))), label


class ZippedPictures(Dataset):
    def __init__(self, path):
        self.archive = zipfile.ZipFile(path)
        self.names = self.archive.namelist()

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        with self.archive.open(self.names[index]) as file:
            picture = Image.open(file).convert("RGB")
        return torch.from_numpy(np.array(picture)), index


def png(number: int) -> bytes:
    pixels = np.random.default_rng(number).integers(0, 256, (12, 20, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def write_tokens(path: Path, seed: int = 5) -> None:
    np.random.default_rng(seed).integers(0, 50_000, 20_000, np.uint16).tofile(path)


def all_of(place: Path) -> dict[str, Dataset]:
    """One of each, with its files in `place`."""
    random = np.random.default_rng(1)
    write_tokens(place / "tokens.bin")
    with h5py.File(place / "set.h5", "w") as file:
        file["images"] = random.integers(0, 256, (COUNT, 8, 8, 3), np.uint8)
        file["masks"] = random.integers(0, 20, (COUNT, 8, 8), np.int64)
    with lmdb.open(str(place / "words"), map_size=1 << 22) as env, env.begin(write=True) as txn:
        txn.put(b"num-samples", b"%d" % COUNT)
        for i in range(COUNT):
            txn.put(f"image-{i + 1:09d}".encode(), png(i))
            txn.put(f"label-{i + 1:09d}".encode(), f"word {i}".encode())
    with zipfile.ZipFile(place / "pictures.zip", "w") as archive:
        for i in range(COUNT):
            archive.writestr(f"train/{i}.png", png(100 + i))
    return {
        "memory map": Tokens(place / "tokens.bin"),
        "HDF5": Segmentation(place / "set.h5"),
        "LMDB": WordPictures(str(place / "words")),
        "zip": ZippedPictures(place / "pictures.zip"),
    }
