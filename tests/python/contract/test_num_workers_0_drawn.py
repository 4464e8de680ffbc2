"""Contract: with num_workers=0, programs that do anything between batches, drawn from a seed."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from support.lazily import both_ways, folder, generators
from support.photos import write_jpegs
from support.pipelines import evaluate_v1, train_tensors, train_v1, train_v2
from torch.utils.data import DataLoader, Subset


class Anything:
    """A program that does something drawn from `seed` after each batch."""

    def __init__(self, place: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.place = place
        self.data = folder(place, self.draw.choice([train_v1, train_v2, train_tensors])())
        self.part = Subset(self.data, self.draw.sample(range(27), 22))
        self.loader = DataLoader(
            self.draw.choice([self.data, self.part]),
            self.draw.choice([1, 2, 4]),
            shuffle=self.draw.random() < 0.7,
            drop_last=self.draw.random() < 0.3,
        )

    def does(self) -> str:
        names = ["nothing"] * 12 + ["draws"] * 3
        names += ["numpy", "dropout", "seeds", "probability", "transform", "label", "index", "file"]
        name = self.draw.choice([*names, "batch_size", "inner"])
        getattr(self, name)()
        return name

    def nothing(self) -> None:
        pass

    def draws(self) -> None:
        torch.rand(self.draw.randrange(1, 700))

    def numpy(self) -> None:
        np.random.rand(), random.random()

    def dropout(self) -> None:
        torch.nn.functional.dropout(torch.ones(9), 0.5)

    def seeds(self) -> None:
        torch.manual_seed(self.draw.randrange(9))

    def probability(self) -> None:
        flips = [t for t in self.data.transform.transforms if hasattr(t, "p")]
        for flip in flips:
            flip.p = self.draw.random()

    def transform(self) -> None:
        self.data.transform = self.draw.choice([train_v1, train_v2, evaluate_v1, train_tensors])()

    def label(self) -> None:
        key = self.draw.randrange(27)
        self.data.samples[key] = (self.data.samples[key][0], self.draw.randrange(9))

    def index(self) -> None:
        self.part.indices[self.draw.randrange(22)] = self.draw.randrange(27)

    def file(self) -> None:
        path, _ = self.data.samples[self.draw.randrange(27)]
        Image.open(path).convert("RGB").rotate(180).save(path, quality=90)

    def batch_size(self) -> None:
        self.loader.batch_sampler.batch_size = self.draw.choice([1, 2, 4])

    def inner(self) -> None:
        next(iter(self.loader))

    def told(self) -> list[Any]:
        told: list[Any] = []
        for _ in range(3):
            stop = self.draw.randrange(30)
            for number, batch in enumerate(self.loader):
                told += [[part.clone() for part in batch], generators()]
                told.append(self.does())
                if number == stop:
                    break
            told.append(generators())
        return told


@pytest.mark.parametrize("run", range(8))
def test_programs_that_do_anything_between_batches(tmp_path, run):
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    places = iter([tmp_path / "a", tmp_path / "b"])

    def program() -> list[Any]:
        return Anything(write_jpegs(next(places), classes=3, count=9), seed).told()

    both_ways(program)
