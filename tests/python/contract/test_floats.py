"""Contract: programs that crop, resize and pad tensors of float32, as native plans."""

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
}
# What computes with sums that are not known.
REFUSED = {
    "jitter": lambda: v1.Compose([v1.ToTensor(), v1.Resize((40, 50)), v1.ColorJitter(0.4, 0.4)]),
    "blur": lambda: v1.Compose([v1.ToTensor(), v1.Resize((40, 50)), v1.GaussianBlur(5)]),
    "without antialias": lambda: v1.Compose([v1.ToTensor(), v1.Resize((40, 50), antialias=False)]),
    "affine": lambda: v1.Compose([v1.ToTensor(), v1.Resize((40, 50)), v1.RandomRotation(20)]),
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


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_python(photos, name):
    data = datasets.ImageFolder(photos, REFUSED[name]())
    check(lambda loader: loader(data, batch_size=4, num_workers=2), path="python")
