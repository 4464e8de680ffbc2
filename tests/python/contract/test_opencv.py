"""Contract: image folders whose loader opens pictures with OpenCV are served natively, with the stock
loader's batches."""

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.native import opencv
from headrace.service.report import REPORT
from PIL import Image
from support.compare import batches, check
from torch.utils.data import Subset
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2

cv2 = pytest.importorskip("cv2", reason="./dev test installs OpenCV")
cv2.setNumThreads(0)
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def rgb(path):
    return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)


def area(path):
    image = cv2.imread(path, cv2.IMREAD_COLOR)
    image = cv2.resize(image, (48, 40), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(image[:, :, ::-1])


class Reader:
    """A letterbox of fixed sides, blurred and mirrored."""

    def __init__(self, side):
        self.side, self.border = side, (8, 4)

    def __call__(self, path):
        image = cv2.resize(cv2.imread(path), (self.side, self.side))
        top, left = self.border
        image = cv2.copyMakeBorder(
            image, top, top, left, left, cv2.BORDER_CONSTANT, value=(114, 113, 112)
        )
        return cv2.flip(cv2.GaussianBlur(image, (5, 3), 0), 1)


def gray(path):
    return cv2.resize(cv2.imread(path, cv2.IMREAD_GRAYSCALE), (32, 32))


def reflected(path):
    """A border that the smallest picture of a trial is too small for."""
    image = cv2.resize(cv2.imread(path), (64, 48))
    return cv2.copyMakeBorder(image, 4, 4, 4, 4, cv2.BORDER_REFLECT_101)


LOADERS = {
    "reflected": (reflected, v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)])),
    "rgb": (
        rgb,
        v2.Compose(
            [
                v2.ToImage(),
                v2.Resize((32, 32)),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(MEAN, STD),
            ]
        ),
    ),
    "area": (area, v1.Compose([v1.ToTensor(), v1.Normalize(MEAN, STD)])),
    "letterbox": (Reader(48), v1.ToTensor()),
    "a lambda": (
        lambda path: cv2.resize(cv2.imread(path)[..., ::-1].copy(), (24, 24)),
        v1.ToTensor(),
    ),
    "gray": (gray, v2.Compose([v2.ToImage()])),
    "drawn later": (area, v1.Compose([v1.ToTensor(), v1.RandomCrop(32), v1.RandomErasing(p=0.5)])),
}


def make_of(root, name, workers, **named):
    loader, transform = LOADERS[name]

    def make(cls):
        dataset = datasets.ImageFolder(root, transform, loader=loader)
        return cls(dataset, batch_size=5, num_workers=workers, **named)

    return make


@pytest.mark.parametrize("workers", [0, 1, 2])
@pytest.mark.parametrize("name", LOADERS)
def test_loaders_with_opencv(photos, name, workers):
    assert len(batches(check(make_of(photos, name, workers, shuffle=True)))) == 12


def test_a_subset(photos):
    def make(cls):
        dataset = datasets.ImageFolder(photos, LOADERS["area"][1], loader=area)
        return cls(Subset(dataset, [5, 0, -1, 7, 7]), batch_size=2, num_workers=2)

    check(make)


def test_the_second_epoch_comes_from_the_cache(photos, no_service, monkeypatch):
    """What is kept is the small picture, so later epochs read, decode and resize nothing."""
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    make, made = make_of(photos, "area", 2), []

    def noted(cls):
        made.append(make(cls))
        return made[-1]

    check(noted, epochs=3)
    REPORT.as_dict()  # asks the service
    hits = state_of(made[-1]).report.cache_hits
    assert hits["decoded"] >= 27 and not hits["encoded"], hits


def test_turned_damaged_and_other_files_are_opencvs(own_photos):
    """OpenCV turns a picture as Exif says, and returns None for what it can't read."""
    files = sorted(own_photos.glob("*/*.jpg"))
    with Image.open(files[1]) as image:
        exif = image.getexif()
        exif[0x0112] = 6
        image.save(files[1], exif=exif)
    Image.new("CMYK", (50, 60), (9, 80, 7, 1)).save(files[4])
    Image.new("RGBA", (50, 60), (9, 80, 7, 99)).save(files[5].with_suffix(".png"))
    check(make_of(own_photos, "area", 2))
    files[6].write_bytes(files[6].read_bytes()[:100])
    check(make_of(own_photos, "area", 2))


def scaled(path):
    return cv2.resize(cv2.imread(path), None, fx=0.5, fy=0.5)


def by_size(path):
    image = cv2.imread(path)
    return cv2.resize(image, (image.shape[0], 32))


def cubic(path):
    return cv2.resize(cv2.imread(path), (32, 32), interpolation=cv2.INTER_CUBIC)


def python_with(root, loader, transform=None):
    """The reason why it is served as Python, with the same batches."""
    transform = transform or v1.Compose([v1.ToTensor(), v1.CenterCrop(32)])
    made = []

    def make(cls):
        dataset = datasets.ImageFolder(root, transform, loader=loader)
        made.append(cls(dataset, batch_size=5, num_workers=2))
        return made[-1]

    check(make, path="python")
    return str(state_of(made[-1]).report.reasons)


@pytest.mark.parametrize(
    ("loader", "words"), [(scaled, "fx or fy"), (by_size, ".shape"), (cubic, "INTER_")]
)
def test_other_calls_stay_python(photos, loader, words):
    assert words in python_with(photos, loader)


def test_a_transform_of_pil_images_says_so(photos):
    def make(cls):
        dataset = datasets.ImageFolder(photos, v1.PILToTensor(), loader=area)
        return cls(dataset, batch_size=5, num_workers=2)

    check(make, path="python")  # which raises


def test_settings_of_opencv_stay_python(photos, monkeypatch):
    cv2.setUseOptimized(False)
    try:
        assert "setUseOptimized" in python_with(photos, area)
    finally:
        cv2.setUseOptimized(True)
    monkeypatch.setenv("OPENCV_IO_MAX_IMAGE_PIXELS", str(1 << 29))
    assert "OPENCV_IO_MAX_IMAGE_PIXELS" in python_with(photos, area)


def test_a_replaced_function_stays_python(photos, monkeypatch):
    own = cv2.resize
    monkeypatch.setattr(cv2, "resize", lambda image, size, interpolation: own(image, size))
    assert "own, which is not followed" in python_with(photos, area)


def test_a_function_with_other_bits_ends_the_native_form(photos, monkeypatch):
    """The trial's pictures tell it, whatever the samples are."""
    parameters, convert = opencv._FUNCTIONS["GaussianBlur"]

    def wrong(given, channels):
        node, made = convert({**given, "sigmaX": 0.81}, channels)
        return node, made

    monkeypatch.setitem(opencv._FUNCTIONS, "GaussianBlur", (parameters, wrong))

    def blurred(path):
        return cv2.GaussianBlur(cv2.resize(cv2.imread(path), (32, 32)), (3, 3), 0.8)

    reason = python_with(photos, blurred)
    assert "cv2.GaussianBlur" in reason and "by drawn pictures" in reason
