"""Pictures that a program wants again, in Python stages: how often they are decoded."""

import io
import random

import numpy as np
from PIL import Image
from support.own_process import in_own_process
from support.stage_pictures import SEED, enable, photo, plain


class Counting:
    """A renderer that counts how often a file is decoded, and how often pixels are edited."""

    def __init__(self, real):
        self.real, self.decoded, self.edited = real, 0, 0

    def render(self, file, nodes):
        self.decoded += 1
        return self.real.render(file, nodes)

    def edit(self, pixels, nodes):
        self.edited += 1
        return self.real.edit(pixels, nodes)


@in_own_process
def test_many_crops_of_one_picture_decode_it_twice_at_most():
    images = enable()
    host = images._current
    host.renderer = renderer = Counting(host.renderer)
    for number in range(6):
        file = photo(random.Random(SEED + number), (100, 200))
        image = Image.open(io.BytesIO(file)).convert("RGB")
        renderer.decoded = renderer.edited = 0
        for corner in range(10):
            box = (corner, corner, corner + 30, corner + 31)
            assert image.crop(box) == plain(file).crop(box)
        # A part of it, and then all; all at once where the pictures before came again, too.
        again = number >= 4
        assert (renderer.decoded, renderer.edited) == ((1, 10) if again else (2, 9)), number


@in_own_process
def test_that_all_of_a_picture_is_decoded_is_no_other_use_of_it():
    """Else lanes would go on to decode all of pictures that are wanted once."""
    host = enable()._current
    for number in range(12):
        file = photo(random.Random(SEED + number), (100, 200))
        image = Image.open(io.BytesIO(file)).convert("RGB")
        for corner in range(2 if number < 4 else 1):
            np.asarray(image.crop((corner, corner, corner + 30, corner + 31)))
        assert host.comes_again == (3 <= number < 7), number
