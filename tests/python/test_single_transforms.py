"""Transforms of torchvision's that code calls by themselves: native where it pays, with torchvision's own bits, draws
and objects (stage/single_transforms.py)."""

import copy
import io
import itertools
import random
import warnings

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service import service
from PIL import Image, ImageFilter
from support.compare import assert_same as same_traces
from support.compare import served, stock
from support.own_process import in_own_process
from support.photos import encode_photo
from torch.utils.data import Dataset
from torchvision import transforms as v1
from torchvision.transforms import functional, v2

SEED = 20261130


def enable():
    from headrace.stage import images

    images.enable([])
    images._current.on = True
    return images._current


def picture(rng, mode="RGB", sides=(33, 120), info=None):
    height, width = rng.randint(*sides), rng.randint(*sides)
    array = np.frombuffer(rng.randbytes(height * width * 3), np.uint8).reshape(height, width, 3)
    image = Image.fromarray(array).convert(mode)
    image.info = dict(info or {"dpi": (72, 72)})
    return image


def transforms(rng):
    api = rng.choice((v1, v2))
    some = [rng.choice((None, rng.uniform(0.01, 0.9))) for _ in range(3)]
    hue = rng.choice((None, rng.uniform(0.01, 0.5)))
    kernel = rng.choice((3, 5, (7, 3)))
    return [
        api.ColorJitter(*[one or 0 for one in (*some, hue)]),
        api.ColorJitter(0, 0, rng.uniform(0.1, 0.9)),
        api.ColorJitter(),
        api.GaussianBlur(kernel, sigma=rng.choice(((0.1, 2.0), 1.5))),
        v1.RandomApply([api.ColorJitter(0.3, 0.3, 0.3, 0.1)], p=0.6),
    ]


def both(maker, transform, image, seed):
    found = []
    for maker.on in (True, False):
        torch.manual_seed(seed)
        given = copy.deepcopy(image)
        made = transform(given)
        found.append((made, made is given, torch.get_rng_state(), given))
    maker.on = True
    return found


def assert_same(maker, transform, image, seed, note):
    (mine, my_same, my_state, my_given), (theirs, their_same, their_state, given) = both(
        maker, transform, image, seed
    )
    assert torch.equal(my_state, their_state) and my_same == their_same, note
    if isinstance(theirs, torch.Tensor):
        assert (mine.dtype, mine.shape, mine.stride()) == (
            theirs.dtype, theirs.shape, theirs.stride()), note  # fmt: skip
        assert mine.numpy().tobytes() == theirs.numpy().tobytes(), note
        return
    assert (mine.mode, mine.size, mine.info) == (theirs.mode, theirs.size, theirs.info), note
    # In every way in which a program comes to the pixels, and to what is made of them.
    assert np.asarray(mine).tobytes() == np.asarray(theirs).tobytes(), note
    half = [functional.to_tensor(one.resize((20, 24))).numpy().tobytes() for one in (mine, theirs)]
    assert half[0] == half[1], note
    assert mine.tobytes() == theirs.tobytes() and type(mine) is type(theirs), note
    assert my_given.tobytes() == given.tobytes(), note


@in_own_process
def test_every_picture_comes_out_as_torchvisions():
    maker = enable()
    rng = random.Random(SEED)
    for case in range(25):
        for transform in transforms(rng):
            for mode in ("RGB", "L", "RGBA", "P"):
                if mode in ("RGBA", "P") and not isinstance(transform, v1.ColorJitter):
                    continue  # torchvision refuses them, or needs values of another kind
                image = picture(rng, mode)
                try:
                    copied = copy.deepcopy(transform)
                    maker.on = False
                    copied(copy.deepcopy(image))
                except Exception:
                    continue
                finally:
                    maker.on = True
                assert_same(maker, transform, image, rng.randrange(2**32), (SEED, case, transform))
    assert maker.made > 80


@in_own_process
def test_objects_that_are_made_for_each_sample_share_what_is_known():
    maker = enable()
    rng = random.Random(SEED)
    made = maker.made
    for _ in range(200):  # more than recipes are kept
        image = picture(rng)
        assert_same(maker, v1.ColorJitter(0.4, 0.4, 0.4, 0.1), image, rng.randrange(2**32), SEED)
    assert maker.made - made > 190


@in_own_process
def test_what_the_program_changes_is_the_programs():
    maker = enable()
    rng = random.Random(SEED)

    class Own(v1.ColorJitter):
        def forward(self, img):
            return super().forward(img).transpose(0)

    altered = v1.ColorJitter(0.4)
    altered.forward = lambda image: image.rotate(90)
    drawn = v1.ColorJitter(0.4, 0.4)
    drawn.get_params = lambda *ranges: (torch.arange(4), 0.5, None, None, None)
    hooked = v1.ColorJitter(0.4)
    hooked.register_forward_hook(lambda module, inputs, made: made.transpose(1))
    changing = v1.ColorJitter(0.4, 0.4, 0.4, 0.1)
    for case in range(12):
        for transform in (v1.ColorJitter(0.4, 0.4), Own(0.4), altered, drawn, hooked, changing):
            assert_same(maker, transform, picture(rng), rng.randrange(2**32), (SEED, case))
        changing.brightness = (1.0, 1.0 + case / 10)
        changing.hue = None if case % 2 else (-0.1, 0.2)


@in_own_process
def test_functions_that_the_program_replaces_are_the_programs():
    maker = enable()
    rng = random.Random(SEED)
    transform = v1.ColorJitter(0.4, 0.4)
    for _ in range(4):
        assert_same(maker, transform, picture(rng), rng.randrange(2**32), SEED)
    real = functional.adjust_brightness
    functional.adjust_brightness = lambda image, factor: real(image, factor).transpose(0)
    try:
        for one in (transform, v1.ColorJitter(0.4), v1.ColorJitter(0.3, 0.4)):
            assert_same(maker, one, picture(rng), rng.randrange(2**32), SEED)
    finally:
        functional.adjust_brightness = real


@in_own_process
def test_to_tensor_of_any_picture():
    maker = enable()
    rng = random.Random(SEED)
    file = encode_photo(90, 70, 5)
    for case in range(30):
        for mode in ("RGB", "L", "RGBA", "I", "F", "1", "CMYK", "LA"):
            image = picture(rng, "RGB").convert("L" if mode in ("I", "F", "1") else mode)
            for to_tensor in (v1.ToTensor(), functional.to_tensor):
                assert_same(maker, to_tensor, image.convert(mode), 1, (SEED, case, mode))
        opened = Image.open(io.BytesIO(file))
        assert_same(maker, v1.ToTensor(), opened.crop((1, 2, 60, 61 + case % 9)), 1, (SEED, case))
    jittered = v1.ColorJitter(0.3, 0.3)(picture(rng))
    assert_same(maker, v1.ToTensor(), jittered, 1, SEED)


def of_tensor(to_tensor, array):
    """All that a program can see."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            made = to_tensor(array)
        except Exception as error:
            return type(error), str(error)
    memory = made.untyped_storage()
    owner = memory.resizable(), memory.nbytes(), made.data_ptr() % 64
    place = made.stride(), made.storage_offset(), owner, made.numpy().tobytes()
    return type(made), made.dtype, made.shape, place, [str(one.message) for one in said]


class OwnArray(np.ndarray):
    pass


@in_own_process
def test_to_tensor_of_any_array():
    maker, rng, native = enable(), random.Random(SEED), []
    real = maker.edited_tensor
    maker.edited_tensor = lambda *args: native.append(real(*args)) or native[-1]
    for case in range(16):
        height, width = rng.choice(
            ((95, 97), (96, 96), (rng.randint(90, 190), rng.randint(90, 190)))
        )
        kind = rng.choice(("u1",) * 6 + ("f4", "f8", "i8", "?"))
        shape = rng.choice(
            ((height, width, 3),) * 5 + ((height, width), (height, width, 4), (height, width, 1))
        )
        generator = np.random.Generator(np.random.PCG64(case))
        array = generator.integers(0, 256, shape).astype(kind)
        read_only = array.copy()
        read_only.flags.writeable = False
        of_tensor(functional.to_tensor, read_only)  # torch warns of it once in a process
        views = (
            array, array[3:-2, 1:], array[::2], array[::-1], array[:, ::-1], array[..., ::-1], array[:, ::2],
            np.asfortranarray(array), array.view(OwnArray), read_only, array[:0], array.swapaxes(0, 1),
            np.broadcast_to(array[:1], array.shape), array[None],
        )  # fmt: skip
        for number, view in enumerate(views):
            before = view.tobytes()
            for to_tensor in (v1.ToTensor(), functional.to_tensor):
                found = []
                for maker.on in (True, False):
                    found.append(of_tensor(to_tensor, view))
                maker.on = True
                assert found[0] == found[1], (SEED, case, number, shape, kind)
            assert view.tobytes() == before
    assert len(native) > 15, len(native)


class OwnBlur(ImageFilter.GaussianBlur):
    """A program's own."""

    def filter(self, image):
        return image.gaussian_blur((1, 3))


def blurs(rng):
    radius = rng.choice((0.1, 0.5, 1, 2, 2.0, 7, rng.uniform(0.01, 20)))
    return [
        *[ImageFilter.GaussianBlur(radius)] * 3,
        ImageFilter.GaussianBlur(rng.choice((0, 0.0, 1e-9, 2000))),
        ImageFilter.GaussianBlur((radius, 3)),
        ImageFilter.GaussianBlur,
        OwnBlur(radius),
        ImageFilter.BoxBlur(2),
        ImageFilter.SMOOTH,
    ]


@in_own_process
def test_blurs_are_pils():
    maker = enable()
    rng = random.Random(SEED)
    native = 0
    real = maker.renderer.edit

    class Counting:
        def __getattr__(self, name):
            return getattr(renderer, name)

        def edit(self, pixels, nodes):
            nonlocal native
            native += any(args.get("operation") == "gaussian_blur" for _, args in nodes)
            return real(pixels, nodes)

    renderer, maker.renderer = maker.renderer, Counting()
    file = encode_photo(90, 70, 5)
    made = (
        lambda image: image,
        lambda image: image.crop((1, 2, 38, 39)),
        lambda image: v1.ColorJitter(0.3, 0, 0.2)(image),
        lambda image: Image.open(io.BytesIO(file)).convert("RGB"),
        lambda image: Image.open(io.BytesIO(file)).convert("RGB").resize((50, 40)),
        lambda image: Image.open(io.BytesIO(file)),
    )
    for case in range(20):
        for blur in blurs(rng):
            before = rng.choice(made)
            mode = rng.choice(("RGB", "RGB", "RGB", "L", "RGBA", "CMYK"))
            image = picture(rng, mode, sides=(1, 90) if case % 3 == 0 else (40, 90))
            if mode != "RGB" and before is not made[0]:
                continue
            note = (SEED, case, vars(blur), before)
            assert_same(maker, lambda one, b=before, f=blur: b(one).filter(f), image, 3, note)
    assert native > 20, native
    with pytest.raises(TypeError):
        picture(rng).filter("blur")


@in_own_process
def test_errors_are_torchvisions():
    maker = enable()
    for wrong in (np.zeros((40, 40, 3), np.uint8), "text", None):
        said = []
        for maker.on in (True, False):
            with pytest.raises(Exception) as error:
                v1.ColorJitter(0.3)(wrong)
            said.append((error.type, str(error.value)))
        assert said[0] == said[1]


@in_own_process
def test_pictures_that_are_drawn_on_are_their_own():
    maker = enable()
    rng = random.Random(SEED)
    image = picture(rng)
    for _ in range(4):
        made = v1.ColorJitter(0.3, hue=0.1)(image)
        before = made.copy()
        made.putpixel((3, 3), (1, 2, 3))
        array = np.array(made)
        array[:] = 0
        assert made.getpixel((3, 3)) == (1, 2, 3) and before.size == made.size
        assert np.asarray(made).any() and maker.on
        with pytest.raises(ValueError):
            np.asarray(before)[0, 0] = 0


class Jittered(Dataset):
    """Opens no JPEG file: lanes have nothing to defer."""

    def __init__(self):
        self.jitter = v1.ColorJitter(0.4, 0.4, 0.4, 0.1)
        self.to_tensor = v1.ToTensor()

    def __len__(self):
        return 12

    def __getitem__(self, index):
        array = np.random.RandomState(index).randint(0, 255, (40, 50, 3), np.uint8)
        return self.to_tensor(self.jitter(Image.fromarray(array)))


def test_lanes_take_them_in_every_epoch():
    counted = []

    def count(loader, epoch):
        service.REPORT.as_dict()
        counted.append(state_of(loader).report.counts.get("native_images", 0))

    def make(loader):
        return loader(Jittered(), 3, num_workers=2)

    expected = stock(make, epochs=4)
    same_traces(expected, served(make, "python", epochs=4, before=count))
    each = [after - before for before, after in itertools.pairwise(counted)]
    assert each == [12, 12, 12]
