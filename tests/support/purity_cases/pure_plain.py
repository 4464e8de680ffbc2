"""Ordinary code: data sets, collate functions and transforms as people write them.

This file is long because each case is a class.
"""

import collections
import json
import logging
import math
import os
import random
import re
import socket
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import ConcatDataset, Subset, TensorDataset, default_collate
from torchvision import transforms as T
from torchvision.transforms import functional as TF
from torchvision.transforms import v2

from .base import Rows

log = logging.getLogger("cases")
SIZE = 4


def picture(i, size=8):
    return Image.fromarray(np.full((size, size, 3), 30 * i, np.uint8))


class Tuples(Rows):
    def __getitem__(self, i):
        name, label = self.rows[i]
        return name, torch.tensor(label)


class Pictures(Rows):
    transform = T.Compose([T.RandomCrop(4), T.RandomHorizontalFlip(), T.ToTensor(),
                           T.Normalize([0.5], [0.5])])  # fmt: skip

    def __getitem__(self, i):
        image = picture(i).convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return image, i % 3


class PicturesV2(Rows):
    transform = v2.Compose(
        [v2.ToImage(), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, True)]
    )

    def __getitem__(self, i):
        return self.transform(picture(i))


class LambdaTransform(Rows):
    transform = T.Compose([T.ToTensor(), T.Lambda(lambda x: x * 2)])

    def __getitem__(self, i):
        return self.transform(picture(i))


class OwnTransform:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, image, mask):
        if random.random() < self.p:
            image = TF.hflip(image)
            mask = TF.hflip(mask)
        return image, mask


class OwnCompose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, *args):
        for t in self.transforms:
            args = t(*args)
        return args

    def __repr__(self):
        return "OwnCompose"


class Segmentation(Rows):
    transforms = OwnCompose([OwnTransform(), OwnTransform(0.1)])

    def __getitem__(self, i):
        image, mask = self.transforms(picture(i), picture(i + 1))
        return np.array(image), np.array(mask).sum()


class OwnModule(torch.nn.Module):
    def forward(self, x):
        return x + torch.randn_like(x)


class ModuleTransform(Rows):
    noise = torch.nn.Sequential(OwnModule(), OwnModule())

    def __getitem__(self, i):
        return self.noise(torch.full((3,), float(i)))


class Arrays(Rows):
    def __getitem__(self, i):
        x = self.array.copy()
        x[0] = i
        x += 1
        return torch.from_numpy(x).float()


class Cropped(Rows):
    def __getitem__(self, i):
        start = np.random.randint(0, 3)
        part = self.array[start : start + 2]
        part = (part - part.mean()) / (part.std() + 1e-6)
        return part.astype(np.float32)


class FancyIndex(Rows):
    points = np.arange(30.0).reshape(10, 3)

    def __getitem__(self, i):
        choice = np.random.choice(10, 4, replace=True)
        chosen = self.points[choice, :]
        chosen = chosen - np.expand_dims(np.mean(chosen, axis=0), 0)
        chosen[:, 0] += 1
        return chosen


class FancyIndexWritten(Rows):
    points = np.arange(30.0).reshape(10, 3)

    def __getitem__(self, i):
        choice = np.random.choice(10, 4, replace=True)
        chosen = self.points[choice, :]
        chosen[:, 0] += 1
        return chosen


class Tensors(Rows):
    def __getitem__(self, i):
        x = self.tensor.clone()
        x[0] = i
        x.add_(1).mul_(2)
        return x, F.pad(x, (0, 1)), F.one_hot(torch.tensor(i), 10)


class Dicts(Rows):
    def __getitem__(self, i):
        sample = {"name": self.rows[i][0], "label": self.rows[i][1]}
        sample["size"] = torch.as_tensor([SIZE, SIZE])
        sample.update(index=i)
        return {k: v for k, v in sample.items() if k != "name"}


class Boxes(Rows):
    annotations = [[{"bbox": [k, k, 2, 2], "category": k % 3}] for k in range(100)]

    def __getitem__(self, i):
        boxes, labels = [], []
        for annotation in self.annotations[i]:
            x, y, w, h = annotation["bbox"]
            boxes.append([x, y, x + w, y + h])
            labels.append(annotation["category"])
        target = {"boxes": torch.as_tensor(boxes, dtype=torch.float32)}
        target["labels"] = torch.tensor(labels, dtype=torch.int64)
        target["area"] = (target["boxes"][:, 3] - target["boxes"][:, 1]) * 2
        return target


class Texts(Rows):
    vocabulary = {"a": 1, "b": 2, "<unk>": 0}

    def encode(self, text):
        return [self.vocabulary.get(c, self.vocabulary["<unk>"]) for c in text.lower().strip()]

    def __getitem__(self, i):
        ids = self.encode("A b c " * i)[:6]
        ids += [0] * (6 - len(ids))
        return torch.tensor(ids), torch.LongTensor(ids).ne(0)


class Regular(Rows):
    def __getitem__(self, i):
        name = re.sub(r"\d+", "", self.rows[i][0])
        found = re.match(r"(\w+)", name)
        return found.group(1) if found else name


class Files(Rows):
    folder = os.path.dirname(__file__)

    def __getitem__(self, i):
        path = os.path.join(self.folder, "base.py")
        with open(path) as file:
            lines = [line.strip() for line in file if line]
        return len(lines), os.path.basename(path)


class Paths(Rows):
    folder = Path(__file__).parent

    def __getitem__(self, i):
        path = self.folder / "base.py"
        return path.stem, len(path.read_text()), path.exists()


class Json(Rows):
    def __getitem__(self, i):
        return json.loads('{"a": [1, 2]}')["a"][0] + i


class Logs(Rows):
    def __init__(self):
        super().__init__()
        self.logger = logging.getLogger("cases")

    def __getitem__(self, i):
        self.logger.debug("sample %d", i)
        log.debug(f"sample {i}")
        return i


class Prints(Rows):
    def __getitem__(self, i):
        if i > 100:
            print("strange", i)
        return i


class Family(Rows):
    family = socket.AF_INET

    def __getitem__(self, i):
        return int(self.family) + i


class Split(Enum):
    TRAIN = "train"
    TEST = "test"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Enums(Rows):
    split = Split.TRAIN

    def __getitem__(self, i):
        return (i if self.split is Split.TRAIN else -i), self.split.value, Level.HIGH + i


@dataclass
class Sample:
    image: torch.Tensor
    label: int
    more: list = field(default_factory=list)


class Dataclasses(Rows):
    def __getitem__(self, i):
        sample = Sample(torch.zeros(2), i)
        sample.more.append(i)
        return sample


@dataclass(frozen=True)
class Options:
    scale: float = 2.0

    def scaled(self, x):
        return x * self.scale


class FrozenOptions(Rows):
    options = Options()

    def __getitem__(self, i):
        return self.options.scaled(i)


class Point(NamedTuple):
    x: int
    y: int = 3


Pair = collections.namedtuple("Pair", "first second")


class Named(Rows):
    def __getitem__(self, i):
        pair = Pair(i, second=2)
        return pair.first + Point(i).y, pair


class Chooses(Rows):
    def __getitem__(self, i):
        row = random.choice(self.rows)
        k = random.randint(0, 7)
        return row, self.rows[k], random.sample(range(9), 2), random.uniform(0, 1)


class OwnGenerator(Rows):
    def __init__(self):
        super().__init__()
        self.numpy, self.python = np.random.default_rng, random.Random

    def __getitem__(self, i):
        return self.numpy(i).random(), self.python(i).random()


class Retries(Rows):
    def __getitem__(self, i):
        try:
            if i == 3:
                raise ValueError("damaged")
            return self.rows[i]
        except (ValueError, OSError) as error:
            log.debug("skipped %s", error)
            return self[i + 1]


class Loops(Rows):
    def __getitem__(self, i):
        total, k = 0, 0
        while True:
            k += 1
            if k > i:
                break
            if k % 2:
                continue
            total += k
        return total


class Nested(Rows):
    def __getitem__(self, i):
        def scale(x, by=2):
            return x * by

        return [scale(k) for k in range(i)], list(map(lambda x: scale(x, 3), range(i)))


class Properties(Rows):
    @property
    def size(self):
        return len(self.rows), SIZE

    @classmethod
    def twice(cls, x):
        return 2 * x

    @staticmethod
    def thrice(x):
        return 3 * x

    def __getitem__(self, i):
        return self.size[0], self.twice(i), self.thrice(i), Properties.thrice(i)


class _Base(Rows):
    def load(self, i):
        raise NotImplementedError

    def __getitem__(self, i):
        return self.load(i)


class Derived(_Base):
    def load(self, i):
        return math.sqrt(i), int(math.floor(i / 2))


class UsesSuper(Tuples):
    def __getitem__(self, i):
        name, label = super().__getitem__(i)
        return name.upper(), label


class Wraps(Rows):
    def __init__(self):
        super().__init__()
        self.inner = Subset(ConcatDataset([Tuples(), Tuples()]), [0, 3, 9, 2, 5, 1, 7, 8])

    def __getitem__(self, i):
        return self.inner[i]


class OfTensors(Rows):
    held = TensorDataset(torch.arange(10), torch.zeros(10))

    def __getitem__(self, i):
        return self.held[i]


class Delegates(Rows):
    def __init__(self):
        super().__init__()
        self.inner = Tuples()

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __getitem__(self, i):
        return self.inner[i]


class Batches(Rows):
    def collate(self, batch):
        images, labels = zip(*batch, strict=True)
        return torch.stack(images, 0), torch.tensor(labels)

    def __getitem__(self, i):
        return self.collate([(torch.zeros(2), i), (torch.ones(2), i + 1)])


class Padded(Rows):
    def __getitem__(self, i):
        batch = [torch.arange(k + 1) for k in range(i + 1)]
        longest = max(len(x) for x in batch)
        out = torch.zeros(len(batch), longest, dtype=torch.long)
        for k, x in enumerate(batch):
            out[k, : len(x)] = x
        return out, default_collate([{"x": x[:1]} for x in batch])


class Mixed(Rows):
    def __getitem__(self, i):
        x = torch.rand(2, 3, 4, 4)
        lam = np.random.beta(1.0, 1.0)
        mixed = lam * x + (1 - lam) * x.flip(0)
        order = torch.randperm(2)
        return mixed[order], lam


class Contexts(Rows):
    def __getitem__(self, i):
        with torch.no_grad(), np.errstate(divide="ignore"):
            return torch.zeros(1) + i


class Sorting(Rows):
    def __getitem__(self, i):
        found = sorted(self.rows, key=lambda row: (row[1], row[0]), reverse=True)
        found.sort(key=len)
        counts = collections.Counter(label for _, label in found)
        return found[i], counts.most_common(1), sum(counts.values())


class Matches(Rows):
    def __getitem__(self, i):
        match self.rows[i]:
            case (name, 0):
                return name
            case (_, label) if label > 1:
                return label
            case _:
                return None


class Settings(Rows):
    options = {"flip": False, "size": [4, 4], "name": "plain"}

    def __getitem__(self, i):
        if self.options["flip"]:
            self.n += 1
        if self.mode == "counting":
            self.n += 1
        return self.options["size"][0] + i


class ByName(Rows):
    def _read_plain(self, i):
        return i

    def __getitem__(self, i):
        return getattr(self, f"_read_{self.mode}")(i)
