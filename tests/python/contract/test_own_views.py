"""Contract: the programs of views that are recognised give the stock loader's batches, natively."""

import copy

import pytest
from support.compare import batches, check
from support.lazily import both_ways, generators
from support.view_programs import PROGRAMS, FiveCrops
from torch.utils.data import DataLoader, Subset
from torchvision import datasets
from torchvision import transforms as v1

# They compute what they do not return.
PYTHON = ("shared", "of others", "first at once", "one of five crops")


def photo(photos, name):
    """Pictures of one size each, since some programs only pad them."""
    return Subset(datasets.ImageFolder(photos, PROGRAMS[name]()), [0, 4, 9])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_views(photos, name):
    def make(cls):
        return cls(photo(photos, name), batch_size=1, num_workers=1)

    path = "python" if name in PYTHON else "native"
    assert len(batches(check(make, path))) == 6


@pytest.mark.parametrize("name", ["DINO", "BYOL", "a closure"])
def test_with_no_workers(photos, name):
    def program():
        loader = DataLoader(photo(photos, name), batch_size=1)
        return [[copy.deepcopy(batch), generators()] for _ in range(2) for batch in loader]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 6, "python": 0, "local": 0}


def test_a_picture_that_is_smaller_than_its_five_crops(photos):
    def make(cls):
        transform = FiveCrops(v1.FiveCrop((6, 100_000)))
        pictures = Subset(datasets.ImageFolder(photos, transform), [0, 4])
        return cls(pictures, batch_size=1, num_workers=1)

    seen = check(make, None)
    assert [what[1][0] for what in seen if what[0] == "error"] == [ValueError] * 4
