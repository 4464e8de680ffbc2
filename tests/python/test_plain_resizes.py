"""resize() of pictures that PIL has made has PIL's bits, size, mode, info and errors (stage/plain_pictures.py)."""

import random

import numpy as np
from PIL import Image
from support.own_process import in_own_process
from torchvision.transforms import functional

SEED = 20261130


def enable():
    from headrace.stage import images

    images.enable([])
    images._current.on = True
    return images._current


def picture(rng):
    height, width = rng.choice(((180, 200), (370, 380), (30, 40), (200, 1), (700, 200)))
    array = np.frombuffer(rng.randbytes(height * width * 3), np.uint8).reshape(height, width, 3)
    image = Image.fromarray(array)
    image.info = {"dpi": (72, 72)}
    return rng.choice((image, image, image, image.convert("L"), image.convert("RGBA")))


def seen(resize, image):
    """All that a program can tell of the result, or the error."""
    try:
        made = resize(image)
    except Exception as error:
        return type(error), str(error)
    kept = made.mode, made.size, made.info, made is image
    half = functional.to_tensor(made.crop((1, 2, 30, 31))).numpy().tobytes()
    return (*kept, half, np.asarray(made).tobytes(), made.tobytes(), type(made))


def sizes(rng, image):
    width, height = image.size
    yield rng.randint(1, 500), rng.randint(1, 500)
    yield rng.randint(370, 500), rng.randint(370, 500)
    yield width, height
    yield width, max(height // 2, 1)
    yield rng.choice(((0, 9), (-1, 5), (3.5, 4), (4,), None, np.array([250, 300])))


@in_own_process
def test_resizes_are_pils():
    maker = enable()
    rng = random.Random(SEED)
    native = 0
    real = maker.renderer.edit

    class Counting:
        def __getattr__(self, name):
            return getattr(renderer, name)

        def edit(self, pixels, nodes):
            nonlocal native
            native += any(name == "resize" for name, _ in nodes)
            return real(pixels, nodes)

    renderer, maker.renderer = maker.renderer, Counting()
    for case in range(60):
        image = picture(rng)
        by = rng.choice(
            (*range(6), 1, 2, 3, 1, 2, 3, 5, None, None, Image.Resampling.LANCZOS, 17, "bilinear")
        )
        box = rng.choice((None, None, None, (1, 0, 20, 1)))
        gap = rng.choice((None, None, None, 2.0))
        for size in sizes(rng, image):

            def resize(one, size=size, by=by, box=box, gap=gap):
                return one.resize(size, by, box=box, reducing_gap=gap)

            found = []
            for maker.on in (True, False):
                found.append(seen(resize, image.copy()))
            assert found[0] == found[1], (SEED, case, size, by, box, gap, image)
    assert native > 20, native


@in_own_process
def test_a_picture_that_changes_later_does_not_change_what_was_made_of_it():
    enable()
    rng = random.Random(SEED)
    array = np.frombuffer(rng.randbytes(400 * 380 * 3), np.uint8).reshape(400, 380, 3)
    image = Image.fromarray(array)
    expected = image.copy()
    made = image.resize((200, 210), Image.Resampling.BICUBIC)
    image.paste((1, 2, 3), (0, 0, 300, 300))
    assert (
        made.tobytes() == expected.resize((200, 210), Image.Resampling.BICUBIC, None, 1e9).tobytes()
    )
    thumbnail = expected.copy()
    thumbnail.thumbnail((100, 120), reducing_gap=None)
    by_hand = expected.resize(thumbnail.size, Image.Resampling.BICUBIC)
    assert thumbnail.tobytes() == by_hand.tobytes()
