"""torchvision's transforms in stage hosts: native chains give torchvision's own bits and draws."""

# This file is long because many hazards of transforms share one contract.

import contextlib
import io
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from PIL import Image
from support.own_process import in_own_process
from support.photos import encode_photo, without_tables
from support.pipelines import (
    EVERY,
    OF_TENSORS,
    STD,
    chain_on_tensors,
    chain_with,
    nested,
    train_v1,
    train_v2,
)
from torchvision import transforms as v1
from torchvision.transforms import v2

SEED = 20261122


def enable(*kept):
    """Enables them as in a host while it makes a batch."""
    from headrace.stage import images

    images.enable(list(kept))
    images._current.on = True
    return images._current


def photo(rng, sides=(40, 160)):
    height, width = (rng.randint(*sides) for _ in range(2))
    return encode_photo(height, width, rng.randrange(10**6))


def both_ways(maker, transform, make_image, seed):
    """What the transform makes of the image, and the generator after it: here and by PIL alone."""
    results = []
    for on in (True, False):
        maker.on = on
        torch.manual_seed(seed)
        random.seed(seed)
        made = transform(make_image())
        results.append((made, torch.get_rng_state(), random.getstate()))
    maker.on = True
    return results


def assert_same(maker, transform, make_image, seed, note=""):
    (mine, my_state, my_random), (theirs, their_state, their_random) = both_ways(
        maker, transform, make_image, seed
    )
    assert torch.equal(my_state, their_state), note
    assert my_random == their_random, note
    if isinstance(theirs, torch.Tensor):
        assert type(mine) is type(theirs) and mine.dtype == theirs.dtype, note
        assert mine.shape == theirs.shape and mine.stride() == theirs.stride(), note
        mine, theirs = (t.contiguous().view(torch.uint8).numpy() for t in (mine, theirs))
        assert mine.tobytes() == theirs.tobytes(), note
    else:
        assert mine.size == theirs.size and mine.mode == theirs.mode, note
        assert mine.tobytes() == theirs.tobytes(), note


def sources(rng):
    """Ways in which programs come to a picture."""
    file = photo(rng)

    def twice():
        image = Image.open(io.BytesIO(file)).convert("RGB")
        v1.Compose([v1.ToTensor()])(image)
        return image

    def shown():
        image = Image.open(io.BytesIO(file)).convert("RGB")
        np.asarray(image)
        return image

    array = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
    return {
        "file": lambda: Image.open(io.BytesIO(file)).convert("RGB"),
        "opened": lambda: Image.open(io.BytesIO(file)),
        "cropped": lambda: Image.open(io.BytesIO(file)).convert("RGB").crop((2, 3, 39, 38)),
        "twice": twice,
        "shown": shown,
        "array": lambda: Image.fromarray(array),
    }


@in_own_process
def test_every_transform_from_every_source():
    maker = enable()
    rng = random.Random(SEED)
    for name in EVERY:
        for api in (0, 1):
            transform = chain_with(name, api)
            for case in range(2):
                for source, make in sources(rng).items():
                    note = (SEED, name, api, case, source)
                    assert_same(maker, transform, make, rng.randrange(2**32), note)
    assert maker.made > 150


@in_own_process
def test_every_transform_of_tensors():
    maker = enable()
    rng = random.Random(SEED)
    for name in sorted(OF_TENSORS):
        for api in (0, 1):
            transform = chain_on_tensors(name, api)
            source, make = rng.choice(list(sources(rng).items()))
            for _ in range(3):
                assert_same(maker, transform, make, rng.randrange(2**32), (SEED, name, api, source))
    assert maker.made > len(OF_TENSORS)


@in_own_process
def test_tensors_whose_order_in_memory_is_drawn_are_torchvisions():
    maker = enable()
    rng = random.Random(SEED)
    for drawn in (
        v2.RandAugment(),
        v1.TrivialAugmentWide(),
        v1.AutoAugment(),
        v2.RandomGrayscale(0.5),
        v1.RandomEqualize(),
    ):
        transform = v1.Compose([v1.PILToTensor(), drawn, v1.ConvertImageDtype(torch.float32)])
        file = photo(rng)
        for _ in range(12):
            assert_same(
                maker,
                transform,
                lambda file=file: Image.open(io.BytesIO(file)).convert("RGB"),
                rng.randrange(2**32),
                drawn,
            )


@in_own_process
def test_nested():
    maker = enable()
    rng = random.Random(SEED)
    for name, transform in {**nested(), "v1": train_v1(), "v2": train_v2()}.items():
        for case in range(4):
            for source, make in sources(rng).items():
                note = (SEED, name, case, source)
                assert_same(maker, transform, make, rng.randrange(2**32), note)


@in_own_process
def test_altered_objects_do_what_they_do_then():
    maker = enable()
    rng = random.Random(SEED)
    mean = [0.5, 0.4, 0.3]
    crop, normalize = v2.RandomResizedCrop(20), v1.Normalize(mean, STD)
    transform = v1.Compose([crop, v1.RandomInvert(), v1.ToTensor(), normalize])

    def other_ratio():
        crop._log_ratio.sub_(0.5)

    def other_call():
        transform.transforms[1].forward = lambda image: image.rotate(9)

    for alter in (
        lambda: None,
        lambda: setattr(crop, "size", (10, 30)),
        lambda: mean.__setitem__(0, 0.1),
        lambda: transform.transforms.append(v1.RandomErasing(1.0)),
        lambda: setattr(transform, "transforms", transform.transforms[:3]),
        other_ratio,
        other_call,
    ):
        alter()
        for _ in range(4):
            for source, make in sources(rng).items():
                assert_same(maker, transform, make, rng.randrange(2**32), (alter, source))


@in_own_process
def test_replaced_methods_functions_and_hooks_are_seen_at_the_next_call():
    """What every object of a class does is changed, after native chains were made for it."""
    from torchvision.transforms import functional

    maker = enable()
    rng = random.Random(SEED)
    real = functional.normalize

    def of_class():
        v1.Normalize.forward = lambda self, tensor: tensor + 1

    def of_module():
        functional.normalize = lambda tensor, *args, **named: real(tensor, *args, **named) - 1

    def of_every_module():
        return torch.nn.modules.module.register_module_forward_hook(
            lambda module, inputs, made: made * 2 if type(module) is v1.Normalize else None
        )

    def undo(forward=v1.Normalize.forward):
        v1.Normalize.forward, functional.normalize = forward, real

    for change in (of_class, of_module, of_every_module):
        transform = train_v1()
        made = maker.made
        for _ in range(4):
            for make in sources(rng).values():
                assert_same(maker, transform, make, rng.randrange(2**32), change)
        assert maker.made > made  # natively, until then
        hook = change()
        for here in (transform, train_v1()):  # chains of before, and none of after
            for make in sources(rng).values():
                assert_same(maker, here, make, rng.randrange(2**32), change)
        undo()
        if hook is not None:
            hook.remove()


class Wrong:
    """A renderer with chains that differ from the operators."""

    def __init__(self, real, spoil):
        self.real, self.spoil = real, spoil

    def __getattr__(self, name):
        return getattr(self.real, name)

    def compile(self, nodes, torch_exp):
        return WrongChain(self.real.compile(nodes, torch_exp), self.spoil)


class WrongChain(Wrong):
    def run_file(self, file, state, room=None):
        return self.spoil(self.real.run_file(file, state, room), state)

    def run_pixels(self, pixels, state, room=None):
        return self.spoil(self.real.run_pixels(pixels, state, room), state)


def other_bits(array, state):
    array.reshape(-1)[-1] += 1
    return array


def other_draws(array, state):
    state[30] ^= 1
    return array


@pytest.mark.parametrize("spoil", ["other_bits", "other_draws"])
@in_own_process
def test_a_chain_that_differs_is_torchvisions_from_then_on(spoil):
    maker = enable()
    rng = random.Random(SEED)
    maker.renderer = Wrong(maker.renderer, globals()[spoil])
    transform = train_v1()
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        for _ in range(4):
            every = sources(rng)
            for source in ("file", "cropped", "array"):
                make = every[source]
                assert_same(maker, transform, make, rng.randrange(2**32), (spoil, source))
    line = (
        "headrace: random_resized_crop, random_horizontal_flip, to_tensor, normalize give other "
        "bits natively than torchvision does: torchvision does them\n"
    )
    assert said.getvalue().count(line) == 1


@in_own_process
def test_transforms_that_are_made_for_each_picture():
    """What is found out of one is true of the next. Of a few there are recipes."""
    from headrace.stage import transforms

    maker, rng, by_hand = enable(), random.Random(SEED), []
    real = transforms.by_hand
    transforms.by_hand = lambda run, value: by_hand.append(run) or real(run, value)
    stays = v1.Compose([v1.ToTensor(), v1.Normalize([0.2] * 3, STD)])
    for case in range(40):
        mirrored = case % 2
        transform = v1.Compose(
            [
                v1.Resize((40, 44)),
                v1.Lambda(lambda image, by=mirrored: image.rotate(180) if by else image),
                v1.ToTensor(),
                v1.Normalize([0.5] * 3, STD),
            ]
        )
        file = photo(rng)
        note = SEED, case
        assert_same(maker, transform, lambda file=file: Image.open(io.BytesIO(file)), case, note)
        assert_same(maker, stays, lambda file=file: Image.open(io.BytesIO(file)).convert("RGB"), 1)
    assert 4 <= len(by_hand) <= 8, len(by_hand)
    assert len(transforms._performer.compiled) == 16


@pytest.mark.parametrize("first", ["RGB", "L"])
@pytest.mark.parametrize("objects", ["one", "two"])
@in_own_process
def test_pictures_and_masks_have_tensors_of_their_own(first, objects):
    """A mask's tensor has one channel, whose place in memory says nothing of a picture's."""
    maker, rng = enable(), random.Random(SEED)

    def transform():
        return (
            v1.Compose([v1.Resize((40, 44)), v1.Grayscale(1), v1.ToTensor()])
            if case
            else (v1.Compose([v1.Resize((40, 44)), v1.ToTensor()]))
        )

    for case in (0, 1):
        of_pictures = transform()
        of_masks = of_pictures if objects == "one" else transform()
        for number in range(6):
            file = photo(rng)
            ways = {
                "RGB": (of_pictures, lambda file=file: Image.open(io.BytesIO(file)).convert("RGB")),
                "L": (of_masks, lambda file=file: Image.open(io.BytesIO(file)).convert("L")),
            }
            for mode in sorted(ways, key=lambda one: one != first):
                assert_same(maker, *ways[mode], rng.randrange(2**32), (case, number, mode))


@in_own_process
def test_damaged_file_ends_the_batch():
    from headrace.stage.redo import Redo

    enable()
    file = without_tables(photo(random.Random(SEED)))
    transform = train_v1()
    before = torch.get_rng_state()
    with pytest.raises(Redo):
        transform(Image.open(io.BytesIO(file)).convert("RGB"))
    assert not torch.equal(before, torch.get_rng_state())  # by PIL's way to the pixels


@in_own_process
def test_what_torchvision_raises():
    maker = enable()
    file = photo(random.Random(SEED))
    for transform in (
        v1.Compose([v1.RandomCrop(500), v1.ToTensor()]),
        v1.Compose([v1.ToTensor(), v1.Normalize([0.1] * 4, [0.2] * 4)]),
        v2.Compose([v2.RandomCrop(500), v2.PILToTensor()]),
    ):
        errors = []
        for on in (True, False):
            maker.on = on
            torch.manual_seed(1)
            with pytest.raises(Exception) as error:
                transform(Image.open(io.BytesIO(file)).convert("RGB"))
            errors.append((error.type, str(error.value), torch.get_rng_state().sum()))
        assert errors[0] == errors[1]


@in_own_process
def test_other_calls_are_torchvisions():
    enable()
    file = photo(random.Random(SEED))
    image = Image.open(io.BytesIO(file)).convert("RGB")
    to_tensor = v2.Compose([v2.ToImage()])
    pair = to_tensor(image, {"label": 3})
    assert pair[1] == {"label": 3} and pair[0].shape == (3, image.height, image.width)
    assert to_tensor({"image": image})["image"].shape == pair[0].shape
    assert to_tensor(pair[0]) is pair[0]
    with pytest.raises(TypeError):
        v1.Compose([v1.ToTensor()])()


@in_own_process
def test_pictures_of_other_modes():
    maker = enable()
    rng = random.Random(SEED)
    compose = v1.Compose([v1.Resize(20), v1.CenterCrop(20), v1.PILToTensor()])
    for mode in ("L", "P", "RGBA", "CMYK", "I", "1", "LA"):
        image = (
            Image.effect_noise((40, 50), 90).convert("RGB").convert(mode if mode != "I" else "L")
        )
        image = image.convert(mode)
        for _ in range(4):
            assert_same(maker, compose, image.copy, rng.randrange(2**32), mode)


@in_own_process
def test_steps_that_stay_pils_keep_transforms_torchvisions():
    maker = enable("flip")
    transform = train_v1()
    transform(Image.open(io.BytesIO(photo(random.Random(SEED)))).convert("RGB"))
    assert type(transform).__call__.__module__.startswith("torchvision") and maker.on


class Upside(Image.Image):
    """A program's own kind of image."""

    def crop(self, box=None):
        return super().crop(box).transpose(1)


@in_own_process
def test_images_of_a_class_of_the_programs_own_are_torchvisions():
    maker = enable()
    rng = random.Random(SEED)
    transform = v1.Compose([v1.CenterCrop(20), v1.ColorJitter(0.3), v1.ToTensor()])

    def upside():
        image = Upside()
        plain = Image.open(io.BytesIO(file)).convert("RGB")
        plain.load()
        image.__dict__.update(plain.__dict__)
        return image

    for _ in range(4):
        file = photo(rng)
        assert_same(maker, transform, upside, rng.randrange(2**32))


@in_own_process
def test_another_default_dtype_is_torchvisions():
    maker = enable()
    file = photo(random.Random(SEED))
    torch.set_default_dtype(torch.float64)
    with contextlib.redirect_stderr(io.StringIO()) as said:
        for seed in range(4):
            assert_same(
                maker, train_v1(), lambda: Image.open(io.BytesIO(file)).convert("RGB"), seed
            )
    assert not said.getvalue()  # nothing was found to differ


@in_own_process
def test_an_image_that_is_not_changed_is_the_very_image():
    maker = enable()
    rng = random.Random(SEED)
    file = photo(rng)
    kept = set()
    for api in (v1, v2):
        chain = api.Compose(
            [api.RandomGrayscale(0.3), api.RandomInvert(0.3), api.RandomEqualize(0.3)]
        )
        later = api.Compose([api.Resize(30), api.RandomSolarize(99, 0.5)])
        for seed in range(24):
            for make in (
                lambda: Image.open(io.BytesIO(file)),
                lambda: Image.open(io.BytesIO(file)).convert("RGB"),
                lambda: Image.open(io.BytesIO(file)).convert("L"),
            ):
                maker.on = True
                assert_same(maker, chain, make, seed, f"{api} {seed}")
                assert_same(maker, later, make, seed, f"{api} {seed}")
                same = []
                for maker.on in (True, False):
                    torch.manual_seed(seed)
                    image = make()
                    out = chain(image)
                    same.append(
                        (out is image, getattr(out, "filename", 0), getattr(out, "format", 0))
                    )
                assert same[0] == same[1], (api, seed, same)
                kept.add(same[0][0])
    assert kept == {True, False}


@in_own_process
def test_threads_do_not_share_draws():
    """Which thread draws first is open, as it is without us; that two draw the same is not."""
    maker = enable()
    image = Image.open(io.BytesIO(photo(random.Random(SEED), (300, 300)))).convert("RGB")
    image.load()
    transform = v1.Compose([v1.ToTensor(), v1.RandomErasing(1.0)])
    for _ in range(2):
        transform(image)
    torch.manual_seed(5)
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: transform(image).numpy().tobytes(), range(64)))
    torch.manual_seed(5)
    maker.on = False
    assert sorted(drawn) == sorted(transform(image).numpy().tobytes() for _ in range(64))
