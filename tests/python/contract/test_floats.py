"""Contract: programs that crop, resize, pad and recolor tensors of float32, as native plans."""

import pytest
import torch
from support.compare import batches, check
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

PROGRAMS = {
    "validation": lambda: v1.Compose(
        [v1.ToTensor(), v1.Resize(72), v1.CenterCrop(64), v1.Normalize(MEAN, STD)]
    ),
    "training": lambda: v1.Compose(
        [
            v1.ToTensor(),
            v1.RandomResizedCrop(64),
            v1.RandomHorizontalFlip(),
            v1.Normalize(MEAN, STD),
            v1.RandomErasing(),
            v1.RandomCrop(64, padding=4, padding_mode="reflect"),
        ]
    ),
    "v2": lambda: v2.Compose(
        [
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.RandomResizedCrop((48, 64), antialias=True),
            v2.Pad(3, padding_mode="edge"),
            v2.Normalize(MEAN, STD),
        ]
    ),
    "colors": lambda: v1.Compose(
        [
            v1.ToTensor(),
            v1.RandomResizedCrop((36, 40)),
            v1.ColorJitter(0.4, 0.4, 0.4, 0.1),
            v1.RandomGrayscale(0.3),
            v1.RandomSolarize(0.5, 0.3),
            v1.RandomAutocontrast(0.3),
            v1.Normalize(MEAN, STD),
        ]
    ),
    "colors of v2": lambda: v2.Compose(
        [
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Resize((48, 64), antialias=True),
            v2.ColorJitter(0.8, 0.8, 0.8, 0.2),
            v2.RandomInvert(0.3),
            v2.RandomPosterize(4, 0.3),
            v2.Normalize(MEAN, STD),
        ]
    ),
    "grids": lambda: v1.Compose(
        [
            v1.ToTensor(),
            v1.Resize((40, 50)),
            v1.RandomRotation(20),
            v2.RandomAffine(5, (0.1, 0.1), (0.8, 1.2), 4),
            v2.RandomPerspective(0.3),
            v1.Normalize(MEAN, STD),
        ]
    ),
    "perspective of bytes": lambda: v2.Compose(
        [v2.ToImage(), v2.Resize((40, 50)), v2.RandomPerspective(0.4), v2.ToDtype(torch.float32)]
    ),
    "elastic": lambda: v1.Compose(
        [
            v1.ElasticTransform(80.0, 1.5, fill=9),
            v1.ToTensor(),
            v1.Resize((40, 50)),
            v1.RandomHorizontalFlip(),
            v1.RandomApply([v2.ElasticTransform(60.0, 2.0)], p=0.5),
            v1.Normalize(MEAN, STD),
        ]
    ),
    "SimCLR": lambda: v1.Compose(
        [
            v1.ToTensor(),
            v1.RandomResizedCrop(48),
            v1.RandomApply([v1.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8),
            v1.RandomGrayscale(0.2),
            v1.RandomApply([v1.GaussianBlur(5)], p=0.5),
            v1.RandomAdjustSharpness(2.0, 0.5),
            v1.Normalize(MEAN, STD),
        ]
    ),
}
# What computes in an order that is not known, or what the framework makes by other means.
REFUSED = {
    "equalize": lambda: v2.Compose(
        [
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Resize((40, 50)),
            v2.RandomEqualize(),
        ]
    ),
    "jitter of one channel": lambda: v1.Compose(
        [v1.Grayscale(), v1.ToTensor(), v1.Resize((40, 50)), v1.ColorJitter(0.4, 0.4)]
    ),
    "without antialias": lambda: v1.Compose([v1.ToTensor(), v1.Resize((40, 50), antialias=False)]),
}


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stock_loaders_bits(photos, name, num_workers):
    """The second epoch comes from the cache, which holds the uint8 of the whole picture."""
    data = datasets.ImageFolder(photos, PROGRAMS[name]())
    seen = check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers))
    assert batches(seen)[0][0].dtype == torch.float32


def test_views(photos):
    """Two views of a picture, as SimCLR makes them of tensors."""
    view = v1.Compose(
        [v1.RandomResizedCrop(32), v1.RandomHorizontalFlip(), v1.Normalize(MEAN, STD)]
    )
    to_tensor = v1.ToTensor()

    def both(picture):
        tensor = to_tensor(picture)
        return view(tensor), view(tensor)

    data = datasets.ImageFolder(photos, both)
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=2))


@pytest.mark.parametrize("name", ["colors", "colors of v2", "SimCLR"])
def test_without_workers(photos, name):
    data = datasets.ImageFolder(photos, PROGRAMS[name]())
    check(lambda loader: loader(data, batch_size=4, shuffle=True))


def test_large_pictures_without_workers(photos):
    """There torch may share the work among threads, and the trainer makes the samples."""
    jitter = v2.Compose([v1.ToTensor(), v1.Resize((200, 220)), v2.ColorJitter(contrast=0.5)])
    data = datasets.ImageFolder(photos, jitter)
    check(lambda loader: loader(data, batch_size=4), path=None)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_python(photos, name):
    data = datasets.ImageFolder(photos, REFUSED[name]())
    check(lambda loader: loader(data, batch_size=4, num_workers=2), path="python")
