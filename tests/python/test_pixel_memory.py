"""Pixels out of PIL's images and back in one pass: what programs see of them is PIL's (stage/pixel_memory.py)."""

import io
import random

import numpy as np
import pytest
from PIL import Image
from support.own_process import in_own_process

SEED = 20261130
MODES = ("RGB", "L", "RGBA", "P", "1", "LA", "I", "F", "CMYK", "HSV", "YCbCr", "I;16")


def enable():
    from headrace.stage import images, pixel_memory

    images.enable([])
    images._current.on = True
    return images._current, pixel_memory.here()


def picture(rng, sides=(1, 120)):
    height, width = rng.randint(*sides), rng.randint(*sides)
    array = np.frombuffer(rng.randbytes(height * width * 3), np.uint8).reshape(height, width, 3)
    return Image.fromarray(array)


def views(rng, image):
    """In the modes and ways in which programs have pictures."""
    for mode in MODES:
        yield image.convert("L" if mode in ("I", "F", "1", "I;16") else "RGB").convert(mode)
    width, height = image.size
    yield image.crop((-3, height // 3, width + 5, height))
    yield image.rotate(rng.randrange(360), expand=True)
    yield image.transpose(rng.randrange(7))
    for form in ("PNG", "BMP", "TIFF", "JPEG"):
        with io.BytesIO() as file:
            image.save(file, form)
            yield Image.open(io.BytesIO(file.getvalue()))
    drawn = image.copy()
    drawn.putpixel((0, 0), (1, 2, 3))
    yield drawn
    yield Image.merge("RGB", image.split())


def seen(image):
    array = np.asarray(image)
    interface = image.__array_interface__
    flags = array.flags
    return (
        image.tobytes(), type(image.tobytes()), array.dtype, array.shape, array.strides, array.tobytes(),
        flags.writeable, flags.owndata, flags.aligned, type(array.base), np.array(image).flags.writeable,
        {**interface, "data": bytes(interface["data"])}, image.tobytes("raw", image.mode),
    )  # fmt: skip


@in_own_process
def test_bytes_and_arrays_are_pils():
    maker, memory = enable()
    rng = random.Random(SEED)
    native = 0
    pack = memory._pack

    def counted(*args):
        nonlocal native
        made = pack(*args)
        native += made is not None
        return made

    memory._pack = counted
    for case in range(40):
        image = picture(rng, sides=(1, 40) if case % 4 == 0 else (30, 120))
        for number, view in enumerate(views(rng, image)):
            twin = view.copy() if view.mode != "I;16" else view
            found = []
            for maker.on, one in ((True, view), (False, twin)):
                found.append(seen(one))
            assert found[0] == found[1], (SEED, case, number, view.mode)
    if memory._on:
        assert native > 500, native
    maker.on = False
    before = native
    np.asarray(picture(rng, sides=(40, 50)))
    assert native == before


@in_own_process
def test_images_are_pils():
    _, memory = enable()
    rng = random.Random(SEED)
    for case in range(60):
        height, width = rng.randint(1, 90), rng.randint(1, 90)
        pixels = np.frombuffer(rng.randbytes(height * width * 3), np.uint8)
        pixels = pixels.reshape(height, width, 3)
        mine = memory.image(pixels)
        size = pixels.shape[1::-1]
        theirs = Image.frombytes("RGB", size, pixels.tobytes())
        assert (mine.mode, mine.size, mine.info, mine.readonly) == (
            theirs.mode, theirs.size, theirs.info, theirs.readonly), (SEED, case)  # fmt: skip
        assert mine.tobytes("raw", "RGB") == theirs.tobytes("raw", "RGB"), (SEED, case)
        # The byte that means nothing.
        assert mine.tobytes("raw", "RGBX") == theirs.tobytes("raw", "RGBX"), (SEED, case)
        mine.putpixel((0, 0), (1, 2, 3))
        assert mine.getpixel((0, 0)) == (1, 2, 3)


class Own(Image.Image):
    """A program's own, which says what its bytes are."""

    def tobytes(self, *args):
        return b"own"


@in_own_process
def test_what_is_the_programs_stays_so():
    enable()
    image = picture(random.Random(SEED), sides=(40, 50))
    own = Own()
    own.__dict__.update(image.__dict__)
    assert own.tobytes() == b"own"
    broken = io.BytesIO()
    image.save(broken, "PNG")
    with pytest.raises(OSError):
        np.asarray(Image.open(io.BytesIO(broken.getvalue()[: len(broken.getvalue()) // 2])))


@in_own_process
def test_a_difference_is_the_end_of_it(capsys=None):
    _, memory = enable()
    if not memory._on:
        return
    rng = random.Random(SEED)
    memory._pack = lambda core, pixels, channels: bytes(pixels * channels)
    image = picture(rng, sides=(40, 50))
    assert np.asarray(image).any() and not memory._on
    assert np.asarray(picture(rng, sides=(40, 50))).any()
