"""Contract: pictures with masks give the stock loader's batches, types and random numbers."""

import numpy as np
import pytest
from PIL import Image
from support import segmentation
from support.compare import check
from support.lazily import both_ways, epoch
from support.segmentation import write_cities, write_pairs, write_pets, write_voc
from torch.utils.data import DataLoader, Subset
from torchvision import datasets, tv_tensors
from torchvision.transforms import v2

COUNT = 13


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), COUNT)


# Batches of one where the pictures of a program keep their sizes.
def make(data, num_workers, batch_size=1):
    return lambda loader: loader(data, batch_size=batch_size, shuffle=True, num_workers=num_workers)


@pytest.mark.parametrize("name", segmentation.NATIVE)
def test_programs_with_masks(pairs, name):
    check(make(segmentation.NATIVE[name](pairs), 2))


@pytest.mark.parametrize("name", segmentation.NATIVE)
def test_with_no_workers(pairs, name):
    def program():
        loader = DataLoader(segmentation.NATIVE[name](pairs), 1, shuffle=True)
        return [epoch(loader) for _ in range(2)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 2 * COUNT, "python": 0, "local": 0}


@pytest.mark.parametrize("cache", ["", "64M"])
def test_batches_of_crops_through_several_epochs(pairs, monkeypatch, cache):
    monkeypatch.setenv("HEADRACE_CACHE", cache)
    data = segmentation.Joint(pairs, segmentation.crops())
    check(make(data, 2, batch_size=4), epochs=4)
    check(make(Subset(data, [5, 1, 8, 2]), 1, batch_size=3))


def joint():
    return v2.Compose(
        [v2.ToImage(), v2.RandomCrop((24, 24)), v2.RandomHorizontalFlip(), v2.ToPureTensor()]
    )


def test_data_sets_of_torchvisions(tmp_path):
    voc = datasets.VOCSegmentation(
        write_voc(tmp_path / "voc", 6), "2011", "train", transforms=OfBoth(joint())
    )
    pets = datasets.OxfordIIITPet(
        write_pets(tmp_path / "pets", 6), target_types="segmentation", transforms=OfBoth(joint())
    )
    cities = datasets.Cityscapes(
        write_cities(tmp_path / "cities", 6), target_type="semantic", transforms=OfBoth(joint())
    )
    for data in (voc, pets, cities):
        check(make(data, 1, batch_size=3))


class OfBoth:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image, mask):
        return self.transforms(image, tv_tensors.Mask(mask))


OTHER_MASKS = {
    "another size": Image.fromarray(np.arange(99, dtype=np.uint8).reshape(9, 11)),
    "RGB": Image.new("RGB", (50, 50), (1, 2, 3)),
    "1": Image.new("1", (50, 50), 1),
    "I;16": Image.fromarray(np.full((50, 50), 300, np.uint16)),
    "LA": Image.new("LA", (50, 50), (7, 9)),
}


@pytest.mark.parametrize("kind", OTHER_MASKS)
def test_a_mask_of_another_kind_is_as_the_code_makes_it(tmp_path, kind):
    """That one sample is the trainer's, or raises as in the stock loader."""
    root = write_pairs(tmp_path / "pairs", 12)
    data = segmentation.Joint(root, segmentation.crops())
    OTHER_MASKS[kind].save(data.masks[7])
    check(make(data, 2), epochs=1)


def test_a_mask_that_is_gone_raises_as_in_the_stock_loader(tmp_path):
    root = write_pairs(tmp_path / "pairs", 12)
    data = segmentation.Joint(root, segmentation.crops())
    (root / "masks/005.png").unlink()
    seen = check(lambda loader: loader(data, batch_size=1, num_workers=1), epochs=1)
    assert any(kind == "error" and what[0] is FileNotFoundError for kind, what in seen)


def test_a_mask_that_changes_between_epochs_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    root = write_pairs(tmp_path / "pairs", 8)
    data = segmentation.Joint(root, segmentation.crops())
    first = (root / "masks/003.png").read_bytes()

    def before(loader, epoch):
        with Image.open(root / "images/003.jpg") as image:
            size = image.size
        if epoch == 0:
            (root / "masks/003.png").write_bytes(first)
        else:
            Image.new("L", size, 10 + epoch).save(root / "masks/003.png")

    check(make(data, 2), epochs=3, before=before)
