"""Contract: programs with timm's transforms give the stock loader's batches, made by workers."""

import functools
import json
import math
import random

import headrace
import numpy as np
import pytest
import torch
import torchvision.transforms.functional as TF
from headrace.loader.seam import state_of
from PIL import Image
from support.compare import assert_same, check, stock
from support.compare import served as served_as
from support.lazily import both_ways, epoch
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as v1

timm_data = pytest.importorskip("timm.data", reason="./dev test installs timm")
from timm.data import random_erasing, transforms  # noqa: E402

TRAINING = functools.partial(timm_data.create_transform, 32, is_training=True)
NATIVE = {
    "training": TRAINING,
    "interpolation by chance": functools.partial(TRAINING, interpolation="random"),
    "erasing": functools.partial(TRAINING, re_prob=0.6, re_count=3),
    "evaluation": functools.partial(timm_data.create_transform, 32),
    "without normalize": functools.partial(TRAINING, normalize=False, vflip=0.5),
    "for a prefetcher": functools.partial(TRAINING, use_prefetcher=True, color_jitter=None),
}


def loader_of(photos, transform, num_workers, **named):
    data = datasets.ImageFolder(photos, transform)
    return lambda loader: loader(data, 4, shuffle=True, num_workers=num_workers, **named)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_program(photos, name, num_workers):
    check(loader_of(photos, NATIVE[name](), num_workers), epochs=3)


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(photos, name):
    """The program's own generators are drawn from, and are where the stock loader leaves them."""

    def program():
        loader = DataLoader(datasets.ImageFolder(photos, NATIVE[name]()), 4, shuffle=True)
        return [epoch(loader, lambda number: random.random()) for _ in range(2)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 2 * 27, "python": 0, "local": 0}


def test_persistent_workers_go_on(photos):
    transform = NATIVE["erasing"]()
    check(loader_of(photos, transform, 2, persistent_workers=True), epochs=3)


def test_after_a_break(photos):
    check(loader_of(photos, NATIVE["erasing"](), 2), epochs=3, stop=3)


class Own(Dataset):
    """A data set of the program's own, whose code is followed."""

    def __init__(self, photos, transform):
        self.paths = sorted(photos.glob("*/*"))
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        image = Image.open(self.paths[index]).convert("RGB")
        return self.transform(image), index


@pytest.mark.parametrize("name", ["training", "erasing"])
def test_a_data_set_of_the_programs_own(photos, name):
    data = Own(photos, NATIVE[name]())
    check(lambda loader: loader(data, 4, shuffle=True, num_workers=2), epochs=2)


class Twice:
    """Uses the tensor that RandomErasing erases in."""

    def __init__(self):
        self.erase = random_erasing.RandomErasing(1.0, device="cpu")

    def __call__(self, image):
        tensor = TF.to_tensor(TF.resize(image, [32, 32]))
        return tensor, self.erase(tensor)


def test_a_tensor_that_is_erased_in_and_used_elsewhere(photos):
    check(loader_of(photos, Twice(), 2), path="python")


def test_samples_that_the_trainer_makes_draw_in_between(own_photos):
    """Pictures that no worker reads: their code draws from both generators."""
    paths = sorted(own_photos.glob("*/*"))
    for path in paths[3:8:2]:
        with Image.open(path) as image:
            image.convert("CMYK").save(path, "JPEG")
    for workers in (0, 1, 2):
        check(loader_of(own_photos, NATIVE["erasing"](), workers), epochs=3)


def test_a_sample_that_raises(own_photos):
    sorted(own_photos.glob("*/*"))[5].write_bytes(b"no picture")
    check(loader_of(own_photos, NATIVE["erasing"](), 2), epochs=2)


def test_it_resumes_where_the_generators_were(photos):
    data = datasets.ImageFolder(photos, NATIVE["erasing"]())

    def loader():
        torch.manual_seed(5)
        return headrace.DataLoader(data, 2, shuffle=True, num_workers=2)

    whole = list(loader())
    first = loader()
    iterator = iter(first)
    taken = [next(iterator) for _ in range(3)]
    state = json.loads(json.dumps(first.state_dict()))
    del iterator
    second = loader()
    second.load_state_dict(state)
    rest = list(second)
    assert state_of(second).report.path == "native"
    assert_same([*taken, *rest], whole)


def recipe(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def test_a_hook_that_seeds(photos):
    check(loader_of(photos, NATIVE["erasing"](), 2, worker_init_fn=recipe), epochs=2)


# What a program changes is seen at each iter().


class Whole(transforms.RandomResizedCropAndInterpolation):
    @staticmethod
    def get_params(img, scale, ratio):
        return 0, 0, img.size[1], img.size[0]


def erases_nothing(self, img, chan, img_h, img_w, dtype):
    return None


def to_twice(self, image):
    return TF.to_tensor(image) * 2


CROP = transforms.RandomResizedCropAndInterpolation
REPLACED = {
    "a static method": (CROP, "get_params", staticmethod(Whole.get_params)),
    "a call": (transforms.MaybeToTensor, "__call__", to_twice),
    "a method": (random_erasing.RandomErasing, "_erase", erases_nothing),
    "a function": (random_erasing, "_get_pixels", lambda *args, **named: torch.ones(3, 1, 1)),
    "a module": (transforms, "random", random.Random(3)),
    "another module": (transforms, "F", v1),
    "Python's uniform": (random, "uniform", lambda low, high: low),
    "Python's choice": (random, "choice", lambda seq: seq[0]),
    "Python's exp": (math, "exp", lambda x: 1.0),
    "torchvision's": (TF, "resized_crop", lambda img, i, j, h, w, size, way: img.resize(size)),
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_the_program_replaces(photos, name, monkeypatch):
    where, of, by = REPLACED[name]
    if name == "another module":
        by = type("Own", (), {of: staticmethod(function) for of, function in vars(TF).items()})
    make = loader_of(photos, NATIVE["erasing"](), 2)
    check(make)
    monkeypatch.setattr(where, of, by)
    check(make, path="python")
    monkeypatch.undo()
    check(make)


def test_code_that_is_changed_in_place(photos):
    """The function is the same object."""
    make = loader_of(photos, NATIVE["erasing"](), 2)
    check(make)
    function = random_erasing.RandomErasing._erase
    kept = function.__code__
    function.__code__ = erases_nothing.__code__
    try:
        check(make, path="python")
    finally:
        function.__code__ = kept
    check(make)


def test_a_replacement_between_two_epochs_of_a_loader(photos, monkeypatch):
    def before(loader, epoch):
        if epoch == 1:
            monkeypatch.setattr(random_erasing.RandomErasing, "_erase", erases_nothing)

    make = loader_of(photos, NATIVE["erasing"](), 2)
    expected = stock(make, before=before)
    monkeypatch.undo()
    assert_same(served_as(make, None, before=before), expected)


def test_a_subclass_stays_python(photos):
    transform = v1.Compose([Whole(32), v1.ToTensor()])
    check(loader_of(photos, transform, 2), path="python")


@pytest.mark.parametrize("mode", ["rand", "pixel"])
def test_erasing_with_random_numbers_stays_python(photos, mode):
    check(loader_of(photos, TRAINING(re_prob=1.0, re_mode=mode), 2), path="python")
