"""Contract: a transform that is the program's own code, and only applies torchvision's transforms,
gives the stock loader's batches natively."""

import functools

import pytest
from support.compare import batches, check
from support.lazily import both_ways, epoch, folder
from support.pipelines import MEAN, STD
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2


class Recipe:
    """Training and evaluation in one class, in steps."""

    def __init__(self, train=True):
        self.train, self.size = train, 32
        self.crops = {True: v1.RandomResizedCrop(self.size), False: v1.CenterCrop(self.size)}
        self.flips = [v1.RandomHorizontalFlip(), v1.RandomVerticalFlip()]
        self.color = v1.ColorJitter(0.2, 0.2)
        self.end = v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)])

    def augment(self, image):
        for flip in self.flips:
            image = flip(image)
        return self.color(image)

    def __call__(self, image):
        image = self.crops[self.train](image)
        if self.train:
            image = self.augment(image)
        return self.end(image)


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList([v2.RandomCrop(24, pad_if_needed=True), v2.ToImage()])
        self.flip = v2.RandomHorizontalFlip()

    def forward(self, image):
        for step in self.steps:
            image = step(image)
        return self.flip(image)


def closed(size):
    crop, end = v1.RandomCrop(size, pad_if_needed=True), v1.ToTensor()

    def transform(image):
        return end(crop(image))

    return transform


def apply(crop, image, end=v1.ToTensor()):  # noqa: B008
    return end(crop(image))


TRANSFORMS = {
    "a class": Recipe,
    "a class for evaluation": lambda: Recipe(train=False),
    "a module": Module,
    "a closure": lambda: closed(24),
    "a partial": lambda: functools.partial(apply, v1.RandomCrop(24, pad_if_needed=True)),
    "a method": lambda: Recipe().__call__,
    "in a Compose": lambda: v1.Compose([v1.RandomCrop(40, pad_if_needed=True), Recipe()]),
}


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_own_code_that_applies_torchvisions(photos, name, workers):
    def make(cls):
        dataset = datasets.ImageFolder(photos, TRANSFORMS[name]())
        return cls(dataset, batch_size=5, shuffle=True, num_workers=workers)

    assert len(batches(check(make))) == 12


@pytest.mark.parametrize("workers", [1, 2])
def test_a_setting_that_changes_between_epochs_is_the_next_epochs(photos, workers):
    def change(loader, epoch):
        loader.dataset.transform.train = epoch == 1
        loader.dataset.transform.color.brightness = (0.5, 0.5 + epoch)

    def make(cls):
        dataset = datasets.ImageFolder(photos, Recipe())
        return cls(dataset, batch_size=4, num_workers=workers)

    check(make, before=change, epochs=3)


def retrain(transform):
    transform.train = not transform.train


def rebind(transform):
    cell = transform.__closure__[transform.__code__.co_freevars.index("crop")]
    cell.cell_contents = v1.CenterCrop(24)


def redefault(transform):
    transform.func.__defaults__ = (v1.PILToTensor(),)


@pytest.mark.parametrize(
    ("name", "change"), [("a class", retrain), ("a closure", rebind), ("a partial", redefault)]
)
def test_with_no_workers_a_change_is_the_next_batchs(photos, name, change):
    """The stock loader calls the live object for each sample."""
    defaults = apply.__defaults__

    def program():
        dataset = folder(photos, TRANSFORMS[name]())
        loader = DataLoader(dataset, 4)

        def between(number):
            if number == 2:
                change(dataset.transform)

        try:
            return epoch(loader, between)
        finally:
            apply.__defaults__ = defaults

    _, report = both_ways(program)
    assert report.samples_by_path["native"] >= 8 and report.changed >= 1
