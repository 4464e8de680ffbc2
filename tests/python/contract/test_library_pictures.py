"""Contract: programs whose own code reads pictures with OpenCV or torchvision.io, natively decoded."""

import random
import warnings

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import check
from support.photos import without_tables
from torch.utils.data import DataLoader, Dataset
from torchvision.io import ImageReadMode, decode_jpeg, read_file, read_image
from torchvision.transforms import v2

A = pytest.importorskip("albumentations", reason="./dev test installs albumentations and OpenCV")
import cv2  # noqa: E402
from albumentations.pytorch import ToTensorV2  # noqa: E402
from cv2 import imread  # noqa: E402

cv2.setNumThreads(0)


class Photos(Dataset):
    """A data set as people write it."""

    def __init__(self, root, transform=None):
        self.files = sorted(str(file) for file in root.glob("*/*.jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.files)


class Augmented(Photos):
    def __getitem__(self, index):
        image = cv2.cvtColor(cv2.imread(self.files[index]), cv2.COLOR_BGR2RGB)
        return self.transform(image=image)["image"], index


class Masked(Photos):
    def __getitem__(self, index):
        image = cv2.cvtColor(cv2.imread(self.files[index]), cv2.COLOR_BGR2RGB)
        mask = (cv2.imread(self.files[index], cv2.IMREAD_GRAYSCALE) > 127).astype(np.uint8)
        made = self.transform(image=image, mask=mask)
        return made["image"], made["mask"].long()


class Boxed(Photos):
    def __getitem__(self, index):
        with open(self.files[index], "rb") as file:
            image = cv2.imdecode(np.frombuffer(file.read(), np.uint8), cv2.IMREAD_COLOR)
        height, width = image.shape[:2]
        boxes = [[0, 0, width // 2, height // 2], [width // 3, height // 3, width, height]]
        made = self.transform(image=image, bboxes=boxes, labels=[1, 2])
        return made["image"], torch.tensor(np.array(made["bboxes"])), made["labels"]


class Plain(Photos):
    def __getitem__(self, index):
        image = imread(self.files[index])  # by its name
        image = cv2.resize(image[..., ::-1], (32, 32), interpolation=cv2.INTER_AREA)
        if random.random() < 0.5:
            image = cv2.flip(image, 1)
        return (image.astype(np.float32) / 255).transpose(2, 0, 1)


class Letterboxed(Photos):
    """As detectors read: the longest side resized, a grey frame, planes of RGB."""

    def __getitem__(self, index):
        image = cv2.imread(self.files[index])
        longest = max(image.shape[:2])
        height, width = (round(side * 96 / longest) for side in image.shape[:2])
        kind = cv2.INTER_AREA if longest > 96 else cv2.INTER_LINEAR
        image = cv2.resize(image, (width, height), interpolation=kind)
        below, right = 96 - height, 96 - width
        grey = (114, 114, 114)
        image = cv2.copyMakeBorder(image, 0, below, 0, right, cv2.BORDER_CONSTANT, value=grey)
        if random.random() < 0.5:
            image = np.fliplr(image)
        return np.ascontiguousarray(image.transpose(2, 0, 1)[::-1]), index


class Tensors(Photos):
    def __getitem__(self, index):
        image = read_image(self.files[index], ImageReadMode.RGB)
        again = decode_jpeg(read_file(self.files[index]))
        return self.transform(image), again.float().mean()


def classification():
    steps = [A.RandomResizedCrop(size=(32, 32)), A.HorizontalFlip(p=0.5), A.ColorJitter(p=0.8)]
    return A.Compose([*steps, A.Normalize(), ToTensorV2()], seed=137)


def segmentation():
    moves = A.Affine(scale=(0.9, 1.1), translate_percent=0.06, rotate=(-30, 30), p=0.7)
    steps = [moves, A.PadIfNeeded(96, 96), A.RandomCrop(48, 48), A.HorizontalFlip(p=0.5)]
    return A.Compose([*steps, A.Normalize(), ToTensorV2()], seed=138)


def detection():
    steps = [A.RandomBrightnessContrast(p=0.5), A.HorizontalFlip(p=0.5), A.Resize(48, 48)]
    boxes = A.BboxParams(format="pascal_voc", label_fields=["labels"])
    return A.Compose([*steps, A.Normalize(), ToTensorV2()], bbox_params=boxes, seed=139)


def padded():
    steps = [A.LongestMaxSize(96), A.PadIfNeeded(96, 96), A.HorizontalFlip(p=0.5)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # albumentations would have people use Affine
        steps += [A.ShiftScaleRotate(p=0.8), A.GaussianBlur(p=0.5), A.Normalize(), ToTensorV2()]
    return A.Compose(steps, seed=140)


def tensors():
    moves = v2.RandomResizedCrop(32, antialias=True), v2.RandomHorizontalFlip()
    return v2.Compose([*moves, v2.ToDtype(torch.float32, scale=True)])


# Each program, and the pictures that it decodes for a sample.
PROGRAMS = {
    "classification": (Augmented, classification, 1),
    "segmentation": (Masked, segmentation, 2),
    "detection": (Boxed, detection, 1),
    "plain": (Plain, lambda: None, 1),
    "padded": (Augmented, padded, 1),
    "letterbox": (Letterboxed, lambda: None, 1),
    "tensors": (Tensors, tensors, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_stock_loaders_bits(photos, name):
    kind, transform, _ = PROGRAMS[name]
    make = lambda loader: loader(kind(photos, transform()), 4, shuffle=True, num_workers=2)  # noqa: E731
    check(make, "python")


def native_images(data):
    loader = DataLoader(data, 4, num_workers=2)
    list(loader)
    report = state_of(loader).report
    assert report.path == "python", report.reasons
    REPORT.as_dict()
    return report.counts["native_images"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_pictures_are_decoded_natively(photos, seam, name, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "0")  # whole pictures for the cache are counted, too
    kind, transform, pictures = PROGRAMS[name]
    data = kind(photos, transform())
    assert native_images(data) == pictures * len(data)


class Skipping(Photos):
    """Goes on with another picture where OpenCV gives none."""

    def __getitem__(self, index):
        image = cv2.imread(self.files[index])
        if image is None:
            image = np.full((50, 50, 3), 7, np.uint8)
        return cv2.resize(image, (20, 20)), index


def test_program_that_skips_damaged_files(own_photos):
    files = sorted(own_photos.glob("*/*.jpg"))
    files[3].write_bytes(files[3].read_bytes()[:-300])
    files[5].write_bytes(without_tables(files[5].read_bytes()))
    files[7].write_bytes(b"")
    files[9].write_bytes(b"no picture")
    make = lambda loader: loader(Skipping(own_photos), 4, num_workers=2)  # noqa: E731
    check(make, "python")


class Strict(Photos):
    def __getitem__(self, index):
        return read_image(self.files[index])[:, :20, :20].float().mean(), index


def test_damaged_file_raises_what_torchvision_raises(own_photos):
    files = sorted(own_photos.glob("*/*.jpg"))
    files[3].write_bytes(files[3].read_bytes()[:200])
    seen = check(lambda loader: loader(Strict(own_photos), 4, num_workers=2), "python", epochs=1)
    assert [kind for kind, _ in seen].count("error") == 1


class Handed(Photos):
    """Hands the picture to its transform, which decodes no more than it shows."""

    def __getitem__(self, index):
        image = read_image(self.files[index], ImageReadMode.RGB)
        if self.transform is not None:
            image = self.transform(image)
        return image, self.files[index]  # a text, by which it stays a Python stage


class Typed(Photos):
    """Goes another way where it does not get a plain tensor."""

    def __getitem__(self, index):
        image = read_image(self.files[index], ImageReadMode.RGB)
        plain = type(image) is torch.Tensor
        return self.transform(image), plain


def _cropped():
    tail = [v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]
    return v2.Compose([v2.RandomResizedCrop(32), *tail])


@pytest.mark.parametrize("kind", [Handed, Typed])
def test_a_picture_that_is_handed_on_is_the_librarys(photos, kind):
    check(lambda loader: loader(kind(photos, _cropped()), 4, num_workers=2), "python", epochs=3)


def test_a_damaged_picture_that_is_handed_on(own_photos):
    files = sorted(own_photos.glob("*/*.jpg"))
    files[5].write_bytes(without_tables(files[5].read_bytes()))
    make = lambda loader: loader(Handed(own_photos, _cropped()), 2, num_workers=1)  # noqa: E731
    check(make, "python", epochs=2)
