"""Contract: programs with timm's transforms give the stock loader's batches, made by workers."""

import functools
import math
import random

import headrace
import numpy as np
import pytest
import torch
import torchvision.transforms.functional as TF
from headrace.loader.seam import state_of
from PIL import Image, ImageChops
from support.compare import assert_same, check, stock
from support.compare import served as served_as
from support.lazily import both_ways, epoch
from support.resumed import check_it_resumes
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as v1

timm_data = pytest.importorskip("timm.data", reason="./dev test installs timm")
from timm.data import auto_augment, random_erasing, transforms  # noqa: E402
from timm.data.loader import _worker_init  # noqa: E402

TRAINING = functools.partial(timm_data.create_transform, 32, is_training=True)
NATIVE = {
    "training": TRAINING,
    "interpolation by chance": functools.partial(TRAINING, interpolation="random"),
    "erasing": functools.partial(TRAINING, re_prob=0.6, re_count=3),
    "evaluation": functools.partial(timm_data.create_transform, 32),
    "without normalize": functools.partial(TRAINING, normalize=False, vflip=0.5),
    "for a prefetcher": functools.partial(TRAINING, use_prefetcher=True, color_jitter=None),
    "rand": functools.partial(TRAINING, auto_augment="rand-m9-mstd0.5-inc1", re_prob=0.25),
    "rand with weights": functools.partial(TRAINING, auto_augment="rand-m7-n3-mstd101-tweights"),
    "rand and gray": functools.partial(
        TRAINING, auto_augment="rand-m5-n1-p0.9", grayscale_prob=0.3, interpolation="random"
    ),
    "original": functools.partial(TRAINING, auto_augment="original-mstd0.5"),
    "v0r": functools.partial(TRAINING, auto_augment="v0r", interpolation="random"),
}


def loader_of(photos, transform, num_workers, **named):
    data = datasets.ImageFolder(photos, transform)
    return lambda loader: loader(data, 4, shuffle=True, num_workers=num_workers, **named)


def between(number):
    """What a program draws of its own, some of it in pairs of which one is kept."""
    random.random(), np.random.rand()
    if number % 2:
        random.gauss(0, 1), np.random.normal()


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_program(photos, name, num_workers):
    check(loader_of(photos, NATIVE[name](), num_workers), epochs=3)


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(photos, name):
    """The program's own generators are drawn from, and are where the stock loader leaves them."""

    def program():
        loader = DataLoader(datasets.ImageFolder(photos, NATIVE[name]()), 4, shuffle=True)
        return [epoch(loader, between) for _ in range(2)]

    _, report = both_ways(program)
    assert report.samples_by_path == {"native": 2 * 27, "python": 0, "local": 0}


@pytest.mark.parametrize("name", ["erasing", "rand"])
def test_persistent_workers_go_on(photos, name):
    transform = NATIVE[name]()
    check(loader_of(photos, transform, 2, persistent_workers=True), epochs=3)


@pytest.mark.parametrize("name", ["erasing", "rand"])
def test_after_a_break(photos, name):
    check(loader_of(photos, NATIVE[name](), 2), epochs=3, stop=3)


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


@pytest.mark.parametrize("name", ["training", "erasing", "rand", "original"])
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


@pytest.mark.parametrize("name", ["erasing", "rand", "rand with weights", "original"])
def test_samples_that_the_trainer_makes_draw_in_between(own_photos, name):
    """Pictures that no worker reads: their code draws from all generators."""
    paths = sorted(own_photos.glob("*/*"))
    for path in paths[3:8:2]:
        with Image.open(path) as image:
            image.convert("CMYK").save(path, "JPEG")
    for workers in (0, 1, 2):
        check(loader_of(own_photos, NATIVE[name](), workers), epochs=3)


def test_a_sample_that_raises(own_photos):
    sorted(own_photos.glob("*/*"))[5].write_bytes(b"no picture")
    check(loader_of(own_photos, NATIVE["erasing"](), 2), epochs=2)


@pytest.mark.parametrize("name", ["erasing", "rand", "original"])
@pytest.mark.parametrize("damaged", [False, True])
def test_it_resumes_where_the_generators_were(own_photos, name, damaged):
    """`damaged`: after a picture that the trainer made, from where draws can be counted, too."""
    if damaged:
        for path in sorted(own_photos.glob("*/*"))[::5]:
            with Image.open(path) as image:
                image.convert("CMYK").save(path, "JPEG")
    check_it_resumes(datasets.ImageFolder(own_photos, NATIVE[name]()))


def recipe(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def seeds_numpy_alone(worker_id, base=5):
    np.random.seed(base + worker_id)


def seeds_numpy_by_more(worker_id):
    np.random.seed([worker_id, 7])


HOOKS = [
    recipe, seeds_numpy_alone, functools.partial(seeds_numpy_alone, base=2**32 - 2),
    functools.partial(_worker_init, worker_seeding="all"),
    functools.partial(_worker_init, worker_seeding="part"),
]  # fmt: skip


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("name", ["erasing", "rand"])
def test_a_hook_that_seeds(photos, name, hook):
    check(loader_of(photos, NATIVE[name](), 2, worker_init_fn=hook), epochs=2)


def test_a_hook_that_seeds_numpy_in_another_way_stays_python(photos):
    with_more = loader_of(photos, NATIVE["rand"](), 2, worker_init_fn=seeds_numpy_by_more)
    check(with_more, path="python")


@pytest.mark.parametrize("policy", ["3a", "augmix-m5-w3", "rand-m9-t3a"])
def test_policies_without_a_native_form(photos, policy):
    check(loader_of(photos, TRAINING(auto_augment=policy), 2), path="python")


def test_posterizing_to_no_bits(photos):
    """Pillow 13 raises, and so do the samples, with the same words and from the same draws."""
    steps = [auto_augment.AugmentOp("Posterize", 0.2, 0), auto_augment.AugmentOp("Rotate", 0.5, 9)]
    transform = v1.Compose(
        [v1.Resize((32, 32)), auto_augment.AutoAugment([steps, steps[::-1]]), v1.ToTensor()]
    )
    check(loader_of(photos, transform, 2), epochs=3)


class Tried(datasets.ImageFolder):
    """Its code is not followed: a Python stage."""

    def __getitem__(self, index):
        try:
            return super().__getitem__(index)
        except OSError:
            raise


@pytest.mark.parametrize("name", ["rand", "erasing"])
def test_a_seed_for_each_sample(photos, name):
    """What workers draw by a sample's seed is what timm's code draws by it."""
    made = []
    for cls, path in ((datasets.ImageFolder, "native"), (Tried, "python")):
        torch.manual_seed(5)
        data = cls(photos, NATIVE[name]())
        loader = headrace.DataLoader(data, 4, num_workers=2, rng="sample")
        made.append(list(loader))
        # All by workers: where these end, the trainer makes the same.
        assert state_of(loader).report.samples_by_path[path] == 27, state_of(loader).report
    assert_same(*made)


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
    "a function of pixels": (auto_augment, "invert", lambda image, **named: image),
    "a function of magnitudes": (auto_augment, "_randomly_negate", lambda value: value),
    "the choice of operations": (auto_augment.RandAugment, "__call__", lambda self, image: image),
    "a number": (auto_augment, "_LEVEL_DENOM", 20.0),
    "a module of PIL's": (auto_augment, "ImageOps", ImageChops),
    "NumPy's choice": (np.random, "choice", lambda ops, count, **named: ops[:count]),
    "Python's gauss": (random, "gauss", lambda mean, sigma: mean),
    "what gauss computes with": (random, "_cos", math.sin),
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
    make = loader_of(photos, NATIVE["rand"](), 2)
    check(make, epochs=1)
    monkeypatch.setattr(where, of, by)
    check(make, path="python", epochs=1)
    monkeypatch.undo()
    # Other data: why these had no native form is not asked again at once (headrace/serve/heritage.py).
    check(loader_of(photos, NATIVE["rand"](), 2), epochs=1)


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


def test_a_table_of_timms_that_the_program_changes(photos, monkeypatch):
    """An operation that is made of it is the program's own."""
    monkeypatch.setitem(auto_augment.NAME_TO_OP, "Invert", lambda image, **named: image)
    check(loader_of(photos, NATIVE["rand"](), 2), path="python")


@pytest.mark.parametrize("of", ["prob", "magnitude", "aug_fn", "hparams"])
def test_an_operation_that_the_program_changes(photos, of):
    transform = NATIVE["rand"]()
    (rand,) = [step for step in transform.transforms if type(step) is auto_augment.RandAugment]
    changed = {
        "prob": (0.9, "native"),
        "magnitude": (3, "native"),
        "aug_fn": (lambda image, *args, **named: image, "python"),
        "hparams": ({}, "python"),
    }
    make = loader_of(photos, transform, 2)
    check(make)
    value, path = changed[of]
    setattr(rand.ops[3], of, value)
    check(make, path=path)


class Loud(auto_augment.AugmentOp):
    def __call__(self, image):
        return image


def test_an_operation_of_another_class(photos):
    transform = NATIVE["rand"]()
    (rand,) = [step for step in transform.transforms if type(step) is auto_augment.RandAugment]
    rand.ops[2] = Loud("Invert")
    check(loader_of(photos, transform, 2), path="python")


def test_another_bit_generator_of_numpys(photos):
    """The stock loader's workers can't seed it: with no workers alone it can be."""
    kept = np.random.get_bit_generator()

    def program():
        np.random.set_bit_generator(np.random.PCG64(5))
        try:
            loader = DataLoader(datasets.ImageFolder(photos, NATIVE["rand"]()), 4)
            return [batch[0] for batch in loader]
        finally:
            np.random.set_bit_generator(kept)

    _, report = both_ways(program)
    assert report is None or report.samples_by_path["native"] == 0
