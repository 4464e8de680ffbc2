"""Libraries in data sets that keep nothing: sound, databases, archives, expressions, tensors of lists."""

import html
import tempfile
import zipfile
from pathlib import Path

import h5py
import lmdb
import numpy as np
import pandas as pd
import regex
import scipy.fft
import soundfile
import torch
from PIL import Image
from torchvision import transforms, tv_tensors
from torchvision.transforms import functional as F

from .base import Rows

_FOLDER = tempfile.TemporaryDirectory()
FILES = Path(_FOLDER.name)
soundfile.write(FILES / "a.wav", np.sin(np.arange(400) / 9), 8000)
with zipfile.ZipFile(FILES / "a.zip", "w") as archive:
    for _number in range(8):
        archive.writestr(str(_number), bytes([_number]) * 4)
with lmdb.open(str(FILES / "a.lmdb"), map_size=1 << 20) as _env, _env.begin(write=True) as _writer:
    for _number in range(8):
        _writer.put(b"%d" % _number, bytes([_number]) * 3)
with h5py.File(FILES / "a.h5", "w") as _file:
    _file["rows"] = np.arange(24).reshape(8, 3)

WORDS = regex.compile(r"\p{L}+")
_CACHE = {}


def cached(i):
    found = _CACHE.get(i, None)
    if found is not None:
        return found
    found = np.full(3, i)
    _CACHE[i] = found
    return found


class _Opened(Rows):
    def __init__(self):
        super().__init__()
        self.file = None
        self.sound, self.zip, self.base, self.table = (
            str(FILES / f"a.{kind}") for kind in ("wav", "zip", "lmdb", "h5")
        )


class Sound(_Opened):
    def __getitem__(self, i):
        frames = soundfile.info(self.sound).frames
        wave, rate = soundfile.read(self.sound, dtype="float32", start=i, stop=frames - i)
        wave = wave * np.float32(0.5)
        return len(wave), float(wave.sum()), rate


class Zip(_Opened):
    def __getitem__(self, i):
        if self.file is None:
            self.file = zipfile.ZipFile(self.zip)
        return self.file.read(str(i))


class ZipOfEachSample(_Opened):
    def __getitem__(self, i):
        with zipfile.ZipFile(self.zip) as archive, archive.open(str(i)) as member:
            return member.read()


class Lmdb(_Opened):
    def _open(self):
        self.file = lmdb.open(self.base, readonly=True, lock=False, readahead=False)

    def __getitem__(self, i):
        if self.file is None:
            self._open()
        with self.file.begin(write=False) as reader:
            return reader.get(b"%d" % i)


class Hdf5(_Opened):
    def open(self):
        if self.file is None:
            self.file = h5py.File(self.table, "r")
        return self.file

    def __getitem__(self, i):
        return self.open()["rows"][i].sum()


class Expressions(Rows):
    def __getitem__(self, i):
        text = html.unescape("a &amp; b c" * i)
        return (
            WORDS.findall(text),
            regex.sub(r"\s+", "_", text),
            WORDS.sub(lambda m: m.group(0).upper(), text),
        )


class Fourier(Rows):
    def __getitem__(self, i):
        return float(np.abs(scipy.fft.rfft(np.arange(8.0) + i)).sum())


class TensorOfLists(Rows):
    boxes = [[[1.0, 2.0, 3.0, 4.0]] * (n + 1) for n in range(8)]

    def __getitem__(self, i):
        boxes = torch.as_tensor([box for box in self.boxes[i]], dtype=torch.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        boxes[:, 0::2].clamp_(max=3)
        names = torch.FloatTensor(self.boxes[i][0])
        names[0] = 9
        return boxes, names


class Cut:
    def __call__(self, image):
        height, width = image.size()[1], image.size()[2]
        image[0, : height // 2, : width // 2] = 0.5
        return image


class TensorOfPicture(Rows):
    def __init__(self):
        super().__init__()
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3), Cut()]
        )

    def __getitem__(self, i):
        image = F.to_tensor(Image.new("RGB", (6, 4 + i)))
        return self.transform(Image.new("RGB", (6, 4 + i))), image.size()[1]


class Boxed(Rows):
    def __getitem__(self, i):
        image = tv_tensors.Image(torch.zeros(3, 4, 4 + i))
        boxes = tv_tensors.BoundingBoxes(
            torch.tensor([[0.0, 1, 2, 3]]) * i, format="XYXY", canvas_size=(4, 4 + i)
        )
        return image.shape, boxes[:, 2] * 2


class Column(Rows):
    def __init__(self):
        super().__init__()
        self.names = pd.DataFrame({"name": [f"n{i}" for i in range(8)]})["name"].values

    def __getitem__(self, i):
        return self.names[i]


class CacheOfModule(Rows):
    def __getitem__(self, i):
        return cached(i) + 1


class CacheByWalrus(Rows):
    def __getitem__(self, i):
        if (found := self.seen.get(i)) is None:
            found = self.seen[i] = np.full(3, i)
        return found * 2


class Turned:
    def __call__(self, image):
        return image.crop((0, 0, 4, 4)) if image.size[0] > 4 else image


class TransformsOfEachSample(Rows):
    def __getitem__(self, i):
        steps = [Turned()]
        steps.append(transforms.ToTensor())
        return transforms.Compose(steps)(Image.new("RGB", (6, 4 + i)))
