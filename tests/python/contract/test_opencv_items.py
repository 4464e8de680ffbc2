"""Contract: data sets of the program's own that open pictures with OpenCV are served natively."""

import headrace
import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.native import opencv
from headrace.service.report import REPORT
from PIL import Image
from support.compare import check
from support.lazily import both_ways, epoch
from torch.utils.data import DataLoader, Subset
from torchvision import transforms as v1

cv2 = pytest.importorskip("cv2", reason="./dev test installs OpenCV")
cv2.setNumThreads(0)

from support.cv2_datasets import OF_CV2, Photos  # noqa: E402 -- after the import that may skip


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", OF_CV2)
def test_a_data_set_with_opencv(photos, name, workers):
    data = OF_CV2[name](photos)
    check(lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=workers))


@pytest.mark.parametrize("name", OF_CV2)
def test_with_no_workers(photos, name):
    def program():
        loader = DataLoader(OF_CV2[name](photos), 4, shuffle=True)
        return [epoch(loader) for _ in range(2)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 54, "python": 0, "local": 0}


def test_a_subset_in_batches_of_one(photos):
    data = Subset(OF_CV2["Strided"](photos), [5, 0, 2, 7])
    check(lambda loader: loader(data, batch_size=1, num_workers=1))


def test_the_second_epoch_comes_from_the_cache(photos, no_service, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    data, made = OF_CV2["Arithmetic"](photos), []

    def make(cls):
        made.append(cls(data, batch_size=5, num_workers=2))
        return made[-1]

    check(make, epochs=3)
    REPORT.as_dict()  # asks the service
    hits = state_of(made[-1]).report.cache_hits
    assert hits["decoded"] >= 27 and not hits["encoded"], hits


@pytest.mark.parametrize("workers", [0, 2])
def test_turned_and_other_files_are_opencvs(own_photos, workers):
    files = sorted(own_photos.glob("*/*.jpg"))
    with Image.open(files[1]) as image:
        exif = image.getexif()
        exif[0x0112] = 6
        image.save(files[1], exif=exif)
    Image.new("CMYK", (50, 60), (9, 80, 7, 1)).save(files[4])
    with Image.open(files[5]) as image:
        image.convert("L").save(files[5])
    for name in ("Strided", "Grey"):
        data = OF_CV2[name](own_photos)
        check(lambda loader, data=data: loader(data, batch_size=4, num_workers=workers))


@pytest.mark.parametrize("name", ["Photos", "Bytes"])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_program_says_what_it_says_of_a_damaged_file(own_photos, name, workers):
    """OpenCV gives None, and the program's own check raises."""
    files = sorted(own_photos.glob("*/*.jpg"))
    files[14].write_bytes(files[14].read_bytes()[:100])
    data = OF_CV2[name](own_photos)
    check(lambda loader: loader(data, batch_size=4, num_workers=workers))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_changed_path_shows(photos, workers):
    def program():
        data = OF_CV2["Arithmetic"](photos)
        loader = DataLoader(data, 4, num_workers=workers)

        def change(number):
            if number == 2:
                data.paths[20] = data.paths[3]
                data.labels[21] = 77
                Photos.side = 40

        try:
            return [epoch(loader, change), epoch(loader)]
        finally:
            Photos.side = 32

    both_ways(program)


@pytest.mark.parametrize("name", ["Strided", "Planes", "Bytes"])
def test_without_batches(photos, name):
    """Where strides would show, whatever serves it."""
    data = OF_CV2[name](photos)

    def samples(cls):
        return [leaves(sample) for sample in cls(data, batch_size=None, num_workers=1)]

    for ours, stock in zip(samples(headrace.DataLoader), samples(DataLoader), strict=True):
        for one, other in zip(ours, stock, strict=True):
            if isinstance(one, torch.Tensor):
                assert one.stride() == other.stride() and torch.equal(one, other)
            else:
                assert one == other


def leaves(sample):
    return list(sample.values()) if isinstance(sample, dict) else list(sample)


# What stays Python, with the same batches.


class Mean(Photos):
    def end(self, image):
        return self.transform(image - 3)


class Scaled(Photos):
    def end(self, image):
        return torch.from_numpy(image.transpose(2, 0, 1)).float() * (1 / 255)


class Float64(Photos):
    def end(self, image):
        return torch.from_numpy(image.transpose(2, 0, 1) / 255)


class Written(Photos):
    def end(self, image):
        image[:4] = 0
        return self.transform(image)


class InPlace(Photos):
    def end(self, image):
        image = torch.from_numpy(image.transpose(2, 0, 1)).float()
        image /= 255
        return image


class ByShape(Photos):
    def end(self, image):
        return self.transform(cv2.resize(image, (image.shape[0], 8)))


class ByChance(Photos):
    def end(self, image):
        if np.random.rand() < 0.5:
            image = cv2.flip(image, 1)
        return self.transform(image)


class Rows(Photos):
    def end(self, image):
        return torch.from_numpy(image).float() / 255


class Resized(Photos):
    def __init__(self, root):
        super().__init__(root)
        self.resize = v1.Resize(16, antialias=True)

    def end(self, image):
        return self.resize(torch.from_numpy(image.transpose(2, 0, 1)).float() / 255)


class Shared(Photos):
    def __init__(self, root):
        super().__init__(root)
        self.inplace = v1.Normalize([0.5] * 3, [0.5] * 3, inplace=True)

    def end(self, image):
        image = torch.from_numpy(image).float() / 255
        first, second = image.permute(2, 0, 1), image.permute(2, 0, 1)
        return self.inplace(first), second


REFUSED = {
    Mean: "computes with",
    Scaled: "computes with",
    Float64: "float64",
    Written: "sets an entry",
    InPlace: "in place",
    ByShape: ".shape",
    ByChance: "rand",
    Rows: "channels last",
    Resized: "applies Resize to a tensor with its channels last",
    Shared: "inplace=True",
}


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_other_code_stays_python(photos, kind):
    made = []

    def make(cls):
        made.append(cls(kind(photos), batch_size=5, num_workers=2))
        return made[-1]

    check(make, path="python")
    assert REFUSED[kind] in str(state_of(made[-1]).report.reasons)


def test_a_function_with_other_bits_ends_the_native_form(photos, monkeypatch):
    """The trial's pictures tell it, before a sample is used."""
    parameters, convert = opencv._FUNCTIONS["GaussianBlur"]
    wrong = lambda given, channels: convert({**given, "sigmaX": 0.81}, channels)  # noqa: E731
    monkeypatch.setitem(opencv._FUNCTIONS, "GaussianBlur", (parameters, wrong))
    made = []

    def make(cls):
        made.append(cls(Soft(photos), batch_size=5, num_workers=2))
        return made[-1]

    check(make, path="python")
    reason = str(state_of(made[-1]).report.reasons)
    assert "cv2.GaussianBlur" in reason and "by drawn pictures" in reason


class Soft(Photos):
    def end(self, image):
        return self.transform(cv2.GaussianBlur(image, (3, 3), 0.8))


def test_replaced_methods_of_tensors_stay_python(photos, monkeypatch):
    own = torch.Tensor.float
    monkeypatch.setattr(torch.Tensor, "float", lambda self: own(self) + 1, raising=False)
    made = []

    def make(cls):
        made.append(cls(OF_CV2["Arithmetic"](photos), batch_size=5, num_workers=2))
        return made[-1]

    check(make, path="python")


def test_bytes_have_the_same_quotients_everywhere():
    """The spellings that are taken for one another, over all bytes."""
    every = np.arange(256, dtype=np.uint8)
    tensor = torch.from_numpy(every)
    wanted = tensor.float().div(255)
    for made in (
        torch.from_numpy((every / 255).astype(np.float32)),
        torch.from_numpy(every.astype(np.float32) / 255.0),
        torch.from_numpy(every / 255.0).float(),
        torch.from_numpy(every.astype(np.float64) / 255).to(torch.float32),
        tensor / 255,
        tensor.div(255.0),
        tensor.to(torch.float64).div(255).float(),
    ):
        assert torch.equal(made.view(torch.int32), wanted.view(torch.int32))
