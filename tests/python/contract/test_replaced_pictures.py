"""Contract: a picture that is replaced while the program runs is the new one, and what is drawn for
it and for all that follows is what the stock loader draws."""

from pathlib import Path

import numpy as np
import pytest
from headrace.loader.seam import state_of
from PIL import Image
from support.compare import assert_same, served, stock
from support.pipelines import train_v1
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as v1

COUNT = 40


def write(folder, i, height, width):
    """Replaces the file as programs do: moves the new one into the old one's place."""
    pixels = np.random.default_rng(i * 1000 + height).integers(0, 256, (height, width, 3), np.uint8)
    path = Path(folder, "a", f"{i:02}.png")
    Image.fromarray(pixels).save(path.with_suffix(".new"), "PNG")
    path.with_suffix(".new").rename(path)


def replacing(folder, others):
    """At the second epoch some have the size that `others` says; at the third the first one again."""
    Path(folder, "a").mkdir()

    def before(loader, epoch):
        for i in range(COUNT):
            if epoch == 0:
                write(folder, i, 60 + i % 7, 80 - i % 5)
            elif i % 5 == 3:
                write(folder, i, *(others if epoch == 1 else (60 + i % 7, 80 - i % 5)))

    return before


# RandomResizedCrop draws repeatedly for the long ones: it throws crops away that do not fit.
@pytest.mark.parametrize("others", [(90, 120), (20, 300), (61, 80)])
@pytest.mark.parametrize("persistent_workers", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_and_draws_are_the_stock_loaders(tmp_path, others, persistent_workers, shuffle):
    before = replacing(tmp_path, others)
    before(None, 0)

    def make(loader):
        return loader(
            datasets.ImageFolder(tmp_path, train_v1()),
            4,
            shuffle=shuffle,
            num_workers=2,
            persistent_workers=persistent_workers,
        )

    expected = stock(make, epochs=4, before=before)
    assert_same(served(make, epochs=4, before=before), expected)


def test_pictures_of_another_shape(tmp_path):
    """The size of what comes out is that of the picture, which the batches' slots were made for."""
    before = replacing(tmp_path, (40, 40))
    before(None, 0)
    flip = v1.Compose([v1.RandomHorizontalFlip(), v1.ToTensor()])

    def make(loader):
        return loader(datasets.ImageFolder(tmp_path, flip), 1, num_workers=2)

    expected = stock(make, epochs=3, before=before)
    assert_same(served(make, epochs=3, before=before), expected)


def test_what_was_replaced_is_native_again(tmp_path, seam):
    replace = replacing(tmp_path, (90, 120))
    replace(None, 0)
    loader = DataLoader(datasets.ImageFolder(tmp_path, train_v1()), 4, num_workers=2)
    made_here = []
    for epoch in range(4):
        if epoch == 1:
            replace(loader, 1)
        list(loader)
        made_here.append(state_of(loader).report.samples_by_path["local"])
    assert made_here[0] == 0 and made_here[1] >= COUNT // 5
    assert made_here[3] == made_here[1], "a size that was forgotten is asked for again"
