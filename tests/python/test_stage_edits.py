"""Deferred images take PIL's edits too: transform, point, ImageOps and ImageEnhance, with PIL's bits."""

import contextlib
import copy
import io
import os
import pickle
import random

import numpy as np
import PIL
import pytest
from PIL import Image, ImageEnhance, ImageOps
from support.own_process import in_own_process
from support.photos import encode_photo, without_tables
from support.programs import run_program

SEED = 20261125
ENHANCE = ("Brightness", "Color", "Contrast", "Sharpness")


def enable(*kept):
    """Enables them as in a host while it makes a batch."""
    from headrace.stage import images

    images.enable(list(kept))
    images._current.on = True
    return images._current


def photo(rng, sides=(2, 120), **options):
    height, width = (rng.randint(*sides) for _ in range(2))
    return encode_photo(height, width, rng.randrange(10**6), **options)


def opened(file):
    return Image.open(io.BytesIO(file)).convert("RGB")


def plain(file):
    """Made with PIL alone, whatever is enabled."""
    image = Image.open(io.BytesIO(file))
    image.load()
    return Image.Image.convert(image, "RGB")


def is_deferred(image):
    from headrace.stage.deferred import DeferredImage

    return type(image) is DeferredImage


def any_edit(rng):
    """An edit, as a function of an image."""
    kind = rng.randrange(12)
    resample = rng.choice((0, 2, 3, Image.Resampling.BICUBIC))
    fill = rng.choice((None, (124, 116, 104), (0, 255, 3)))
    factor = rng.choice((0.0, 1.0, rng.uniform(0, 1), rng.uniform(-2, 3), 1))
    if kind < 3:
        matrix = [1, 0, 0, 0, 1, 0]
        for at in rng.sample(range(6), rng.choice((1, 1, 4))):
            matrix[at] = rng.uniform(-20, 20) if at in (2, 5) else rng.uniform(-1, 1)
        matrix = rng.choice((tuple, list))(matrix)
        return lambda image: image.transform(
            image.size, Image.AFFINE, matrix, resample=resample, fillcolor=fill
        )
    if kind == 3:
        angle = rng.choice((0, 90, 180, rng.uniform(-40, 40)))
        return lambda image: image.rotate(angle, resample=resample, fillcolor=fill)
    if kind == 4:
        table = [rng.randrange(256) for _ in range(768)]
        return lambda image: image.point(table)
    if kind == 5:
        return lambda image: image.point(lambda value: value * 0.7)
    if kind < 8:
        name = rng.choice(ENHANCE)
        return lambda image: getattr(ImageEnhance, name)(image).enhance(factor)
    if kind == 8:
        return rng.choice((ImageOps.autocontrast, ImageOps.equalize, ImageOps.invert))
    if kind == 9:
        bits = rng.randint(1, 8)
        return lambda image: ImageOps.posterize(image, bits)
    if kind == 10:
        threshold = rng.choice((0, 128, 256, rng.uniform(0, 256)))
        return lambda image: ImageOps.solarize(image, threshold)
    left, top = rng.randint(-3, 3), rng.randint(-3, 3)
    return rng.choice(
        (
            lambda image: image.crop((left, top, left + 20, top + 30)),
            lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
            lambda image: image.resize((17, 19), resample),
            lambda image: image.copy(),
            lambda image: image.convert("RGB"),
        )
    )


LOOKS = (
    lambda image: image.tobytes(),
    lambda image: np.asarray(image).tobytes(),
    lambda image: image.convert("L").tobytes(),
    lambda image: image.histogram(),
    lambda image: bytes(image.load()[0, 0]),
    lambda image: pickle.loads(pickle.dumps(image)).tobytes(),
    lambda image: copy.deepcopy(image).tobytes(),
    lambda image: copy.copy(image).tobytes(),
    lambda image: [band.tobytes() for band in image.split()],
)


def edits_have_pils_bits(cases):
    maker = enable()
    rng = random.Random(SEED)
    stayed = 0
    for case in range(cases):
        file = photo(rng, exif=rng.choice((b"", Image.Exif().tobytes())))
        mine, theirs = opened(file), plain(file)
        seen = []
        for step in range(rng.randrange(6)):
            edit = any_edit(rng)
            mine, theirs = edit(mine), edit(theirs)
            note = (SEED, case, step)
            assert (mine.size, mine.mode, mine.info) == (theirs.size, theirs.mode, theirs.info), (
                note
            )
            seen.append((mine, theirs))
        stayed += is_deferred(mine)
        look = rng.choice(LOOKS)
        assert look(mine) == look(theirs), (SEED, case)
        for before, expected in rng.sample(seen, len(seen) // 2):
            assert before.tobytes() == expected.tobytes(), (SEED, case)
    assert stayed > cases * 0.6 and maker.made > cases * 0.6
    assert maker.kept == set()


@in_own_process
def test_any_sequence_of_edits_has_pils_bits():
    edits_have_pils_bits(500)


@pytest.mark.skipif(
    not os.environ.get("HEADRACE_TEST_PILLOW_OLD"),
    reason="HEADRACE_TEST_PILLOW_OLD names no Pillow",
)
def test_with_an_older_pillow():
    program = """
import sys
sys.path[:0] = sys.argv[1:4]
import PIL
assert PIL.__version__.startswith("12."), PIL.__version__
import test_stage_edits
test_stage_edits.edits_have_pils_bits(250)
"""
    here = os.path.dirname(__file__)
    done = run_program(program, os.environ["HEADRACE_TEST_PILLOW_OLD"], here, os.path.dirname(here))
    assert done.returncode == 0, done.stdout + done.stderr


@in_own_process
def test_parts_of_an_enhancement_are_images():
    """What it blends with may be looked at, kept, and blended by the program itself."""
    enable()
    rng = random.Random(SEED)
    for name in ENHANCE:
        file, other = photo(rng, (20, 60)), photo(rng, (20, 60))
        for factor in (0.3, 2.5):
            mine, theirs = (getattr(ImageEnhance, name)(make(file)) for make in (opened, plain))
            assert is_deferred(mine.degenerate)
            assert vars(mine).keys() == vars(theirs).keys()
            assert mine.degenerate.info == theirs.degenerate.info
            assert mine.enhance(factor) == theirs.enhance(factor)
            assert mine.degenerate == theirs.degenerate and mine.image == theirs.image
            assert mine.enhance(factor) == theirs.enhance(factor), "after a look"
            mine, theirs = (getattr(ImageEnhance, name)(make(file)) for make in (opened, plain))
            size = mine.image.size
            for enhancer, make in ((mine, opened), (theirs, plain)):
                enhancer.image = make(other).resize(size)
            assert mine.enhance(factor) == theirs.enhance(factor), "of another image"


@in_own_process
def test_images_that_were_changed_in_place():
    enable()
    file = photo(random.Random(SEED), (30, 60))
    for change in (
        lambda image: image.putpixel((1, 1), (9, 9, 9)),
        lambda image: image.paste((1, 2, 3), (2, 2, 9, 9)),
        lambda image: image.load().__setitem__((3, 3), (7, 7, 7)),
        lambda image: image.thumbnail((9, 9)),
    ):
        results = []
        for make in (opened, plain):
            image = make(file)
            enhancer = ImageEnhance.Color(image)
            edited = ImageOps.equalize(image)
            change(image)
            results.append([edited, ImageOps.autocontrast(image)])
            if image.size == edited.size:
                results[-1].append(enhancer.enhance(0.4))
            change(edited)
        assert results[0] == results[1]


@in_own_process
def test_several_edits_of_one_image_decode_it_once():
    maker = enable()
    rng = random.Random(SEED)
    calls = []
    real = maker.renderer

    class Counting:
        def render(self, file, nodes):
            calls.append(nodes)
            return real.render(file, nodes)

        def edit(self, pixels, nodes):
            return real.edit(pixels, nodes)

    maker.renderer = Counting()
    file = photo(rng, (50, 90))
    mine, theirs = (make(file).crop((3, 3, 40, 41)) for make in (opened, plain))
    for factor in (0.2, 0.4, 0.8, 1.5):
        for name in ENHANCE:
            edit = getattr(ImageEnhance, name)
            assert edit(mine).enhance(factor) == edit(theirs).enhance(factor)
    assert len(calls) == 1
    assert mine == theirs


@in_own_process
def test_what_is_not_deferred_is_pils():
    enable()
    file = photo(random.Random(SEED), (30, 60))
    for edit in (
        lambda image: image.transform((9, 9), Image.AFFINE, (1, 0, 0, 0, 1, 0)),
        lambda image: image.transform(image.size, Image.EXTENT, (0, 0, 9, 9)),
        lambda image: image.transform(image.size, Image.AFFINE, (1, 0, 1e9, 0, 1, 0)),
        lambda image: image.transform(
            image.size, Image.AFFINE, (1, 0, 0, 0, 1, 0), fillcolor="red"
        ),
        lambda image: image.transform(image.size, Image.AFFINE, (1, 0, 0, 0, 1, 0), fillcolor=7),
        lambda image: image.rotate(30, expand=True),
        lambda image: image.point(lambda value: value * 3),
        lambda image: image.point([0.4] * 768),
        lambda image: ImageOps.autocontrast(image, 2),
        lambda image: ImageOps.equalize(image, Image.new("1", image.size, 1)),
        lambda image: ImageEnhance.Color(image).enhance(1e9),
        lambda image: Image.blend(image, image.copy(), 0.5),
    ):
        mine, theirs = edit(opened(file)), edit(plain(file))
        assert not is_deferred(mine) and mine == theirs
        assert mine.info == theirs.info
    for seen in ("L", "P"):
        mine, theirs = opened(file).convert(seen), plain(file).convert(seen)
        assert ImageOps.autocontrast(mine.convert("L")) == ImageOps.autocontrast(
            theirs.convert("L")
        )


@in_own_process
def test_wrong_arguments_raise_what_pil_raises():
    enable()
    file = photo(random.Random(SEED), (30, 60))

    def fail(value):
        raise KeyError(value)

    for wrong in (
        lambda image: image.transform(image.size, Image.AFFINE),
        lambda image: image.transform(image.size, Image.AFFINE, (1, 0, 0)),
        lambda image: image.transform(image.size, Image.AFFINE, "abcdef"),
        lambda image: image.transform(image.size, 99, (1, 0, 0, 0, 1, 0)),
        lambda image: image.transform(image.size, Image.AFFINE, (1, 0, 0, 0, 1, 0), 1),
        lambda image: image.transform(
            image.size, Image.AFFINE, (1, 0, 0, 0, 1, 0), fillcolor=(1, 2)
        ),
        lambda image: image.transform("ab", Image.AFFINE, (1, 0, 0, 0, 1, 0)),
        lambda image: image.point([1] * 256),
        lambda image: image.point(["a"] * 768),
        lambda image: image.point(fail),
        lambda image: ImageOps.posterize(image, "x"),
        lambda image: ImageOps.solarize(image, "x"),
        lambda image: ImageOps.equalize(image, 3),
        lambda image: ImageEnhance.Color(image).enhance("x"),
        lambda image: ImageEnhance.Color(image).enhance(None),
        lambda image: ImageEnhance.Color(),
        lambda image: Image.blend(ImageEnhance.Color(image).degenerate, image),
    ):
        with pytest.raises(Exception) as theirs:
            wrong(plain(file))
        with pytest.raises(theirs.type) as ours:
            wrong(opened(file))
        assert str(ours.value) == str(theirs.value)


@in_own_process
def test_a_step_that_differs_is_pils_from_then_on():
    maker = enable()

    class Wrong:
        """Makes equalize one bit off."""

        def __init__(self, real):
            self.real = real
            self.render = real.render

        def edit(self, pixels, nodes):
            array = self.real.edit(pixels, nodes)
            if any(args.get("operation") == "equalize" for _, args in nodes):
                array[0, 0, 0] ^= 1
            return array

    maker.renderer = Wrong(maker.renderer)
    file = photo(random.Random(SEED), (40, 90))
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        for _ in range(4):
            mine, theirs = (
                ImageEnhance.Color(ImageOps.equalize(ImageOps.invert(make(file)))).enhance(0.3)
                for make in (opened, plain)
            )
            assert mine == theirs
    assert said.getvalue() == (
        f"headrace: equalize gives other bits natively than PIL {PIL.__version__} does: PIL does it\n"
    )
    assert maker.kept == {"equalize"}
    assert is_deferred(ImageOps.invert(opened(file)))
    assert not is_deferred(ImageOps.equalize(opened(file)))


@in_own_process
def test_damage_ends_the_batch_behind_the_programs_back():
    from headrace.stage.redo import Redo

    maker = enable()
    file = without_tables(photo(random.Random(SEED), (200, 300)))
    edited = ImageEnhance.Contrast(opened(file).crop((1, 1, 30, 30))).enhance(0.5)
    with pytest.raises(Redo):
        edited.tobytes()
    maker.on = False
    with pytest.raises(OSError, match="broken data stream"):
        edited.tobytes()
