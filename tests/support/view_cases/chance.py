"""Random numbers that torchvision does not draw, and decisions by the picture."""

import random

import numpy as np
import torch
from torchvision import transforms as v1

from .base import END, PAD, Base, case


class OwnBlur:
    def __call__(self, x):
        return END(x) if random.random() < 0.5 else x


@case(r"OwnBlur.__call__ \(chance.py:\d+\) decides by what is drawn")
class DrawsInItsOwnTransform(Base):
    def __init__(self):
        super().__init__()
        self.t = v1.Compose([OwnBlur(), END])


@case("calls np.random.uniform, which")
class DrawsWithNumpy(Base):
    def __call__(self, x):
        return END(x) if np.random.uniform() < 0.5 else PAD(x)


@case("returns a number that is drawn")
class DrawsWithTorch(Base):
    def __call__(self, x):
        return [END(x), torch.rand(1)]


@case("decides by what was made of the picture")
class DecidesByThePicture(Base):
    def __call__(self, x):
        y = END(x)
        return y if y else PAD(x)


@case("uses .size of the picture")
class LooksAtThePicture(Base):
    def __call__(self, x):
        return END(x) if x.size[0] > 3 else PAD(x)


@case("calls isinstance")
class AsksForTheType(Base):
    def __call__(self, x):
        return END(x) if isinstance(x, Base) else PAD(x)
