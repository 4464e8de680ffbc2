"""Libraries by which data sets keep something."""

import lmdb
import numpy as np
import regex
import scipy.fft
import torch
from PIL import Image
from torchvision.transforms import functional as F

from .base import Rows
from .pure_libraries import FILES


class LmdbThatWrites(Rows):
    def __init__(self):
        super().__init__()
        self.path = str(FILES / "counted.lmdb")

    def __getitem__(self, i):
        with lmdb.open(self.path, map_size=1 << 20) as env, env.begin(write=True) as writer:
            count = int(writer.get(b"n") or b"0")
            writer.put(b"n", b"%d" % (count + 1))
            return count


class RegexWithCount(Rows):
    def __getitem__(self, i):
        return regex.sub("a", self.count, "a b a")

    def count(self, match):
        self.n += 1
        return str(self.n)


class PatternWithCount(RegexWithCount):
    pattern = regex.compile("a")

    def __getitem__(self, i):
        return self.pattern.sub(self.count, "a b a")


class TransformInPlace(Rows):
    def __getitem__(self, i):
        found = scipy.fft.dct(self.complex, 2, None, -1, None, True)
        return float(found.sum())

    def __init__(self):
        super().__init__()
        self.complex = np.arange(8.0)


class TransformByName(TransformInPlace):
    def __getitem__(self, i):
        return float(scipy.fft.dct(self.complex, overwrite_x=True).sum())


class TensorOfArray(Rows):
    def __getitem__(self, i):
        shared = torch.as_tensor(self.array)
        shared += 1
        return shared.tolist()


class TensorOfTensor(Rows):
    def __getitem__(self, i):
        shared = torch.asarray(self.tensor)
        shared[0] += 1
        return shared.tolist()


class TensorOfEither(Rows):
    def __getitem__(self, i):
        shared = torch.as_tensor(self.array if i % 2 else [0.0, 1.0])
        shared += 1
        return shared.tolist()


class PictureOfArray(Rows):
    def __getitem__(self, i):
        image = F.normalize(torch.from_numpy(self.array).view(1, 2, 2), [0.0], [1.0], inplace=True)
        image += 1
        return image.tolist()


class GetOfDrawn(Rows):
    def __getitem__(self, i):
        found = self.seen.get(i)
        if found is not None:
            return found
        found = float(np.random.rand())
        self.seen[i] = found
        return found


class GetThatIsChanged(Rows):
    def load(self, i):
        found = self.seen.get(i)
        if found is not None:
            return found
        found = np.zeros(2)
        self.seen[i] = found
        return found

    def __getitem__(self, i):
        found = self.load(i)
        found += 1
        return found.tolist()


class GetThenTheFirst(Rows):
    def __getitem__(self, i):
        found = self.seen.get(0)
        if found is not None:
            return found
        found = i
        self.seen[0] = found
        return found


class WalrusOfOther(Rows):
    def __getitem__(self, i):
        if (found := self.seen.get(0)) is None:
            found = self.seen[0] = i
        return found


class GetReadBefore(Rows):
    """What was found is counted on, though it is None where something is missing."""

    def __getitem__(self, i):
        found = self.seen.get(i)
        if found is not None:
            return found, "again"
        found = [found, i]
        self.seen[i] = found
        return found


class Counted(torch.Tensor):
    seen = []

    def crop(self, box):
        self.seen.append(box)
        return self * len(self.seen)


class TensorWithMore(Rows):
    """A tensor of a class of its own, where a picture has a method of the same name."""

    def __getitem__(self, i):
        image = torch.ones(2).as_subclass(Counted)
        if i > 100:
            image = Image.new("L", (4, 4))
        return image.crop((i, 0, 1, 1)).tolist()
