"""Contract: the programs of views that are recognised give the stock loader's batches, natively."""

import copy

import pytest
import torch
from support.compare import batches, check
from support.extent import BRIEF
from support.lazily import both_ways, generators
from support.view_programs import CONSTRUCTING, PROGRAMS, FiveCrops
from torch.utils.data import DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

# They compute what they do not return.
PYTHON = ("shared", "of others", "first at once", "one of five crops")
END, PAD = v1.ToTensor(), v1.Pad(1)
STACKED = ("FiveCrop as documented", "TenCrop as documented", "FiveCrop, normalised later",
           "stacks", "a stack of one")  # fmt: skip
ALL = {**PROGRAMS, **CONSTRUCTING}


def photo(photos, name):
    """Pictures of one size each, since some programs only pad them."""
    return Subset(datasets.ImageFolder(photos, ALL[name]()), [0, 4, 9])


@pytest.mark.parametrize("name", ALL)
def test_a_program_of_views(photos, name):
    def make(cls):
        return cls(photo(photos, name), batch_size=1, num_workers=1)

    path = "python" if name in PYTHON else "native"
    epochs = 1 if BRIEF else 2
    assert len(batches(check(make, path, epochs=epochs))) == 3 * epochs


@pytest.mark.parametrize("name", ["DINO", "BYOL", "a closure", *STACKED])
def test_with_no_workers(photos, name):
    def program():
        loader = DataLoader(photo(photos, name), batch_size=1)
        return [[copy.deepcopy(batch), generators()] for _ in range(2) for batch in loader]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 6, "python": 0, "local": 0}


@pytest.mark.parametrize("crops", [v1.FiveCrop, v1.TenCrop, v2.TenCrop])
def test_a_picture_that_is_smaller_than_its_crops(photos, crops):
    def make(cls):
        transform = FiveCrops(crops((6, 100_000)))
        pictures = Subset(datasets.ImageFolder(photos, transform), [0, 4])
        return cls(pictures, batch_size=1, num_workers=1)

    seen = check(make, None)
    assert [what[1][0] for what in seen if what[0] == "error"] == [ValueError] * 4


@pytest.mark.parametrize("name", STACKED)
def test_two_workers_and_larger_batches(photos, name):
    def make(cls):
        pictures = Subset(datasets.ImageFolder(photos, ALL[name]()), [0, 0, 4, 4])
        return cls(pictures, batch_size=2, num_workers=2)

    check(make)


def different(image):
    return torch.stack([END(image), END(PAD(image))])


def test_a_stack_of_different_shapes(photos):
    def make(cls):
        pictures = Subset(datasets.ImageFolder(photos, different), [0, 4, 9])
        return cls(pictures, batch_size=1, num_workers=1)

    seen = check(make, None)
    assert [what[1][0] for what in seen if what[0] == "error"] == [RuntimeError] * 6
