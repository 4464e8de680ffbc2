"""ops/image/resample against Pillow's Image.resize, bit for bit."""

import os

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from image_kernels import OldPillow, picture, pil_resize, resize, settings, simd_levels
from PIL import Image

FILTERS = [
    Image.Resampling.NEAREST,
    Image.Resampling.BOX,
    Image.Resampling.BILINEAR,
    Image.Resampling.HAMMING,
    Image.Resampling.BICUBIC,
    Image.Resampling.LANCZOS,
]
NEW_PILLOW = int(Image.__version__.split(".")[0]) >= 13

sides = st.one_of(st.integers(1, 12), st.integers(1, 120), st.integers(1, 700))


@st.composite
def cases(draw):
    width, height = draw(sides), draw(sides)
    channels = draw(st.sampled_from([3, 3, 1]))
    pixels = picture(draw(st.integers(0, 2**32 - 1)), height, width, channels)
    size = (draw(sides), draw(sides))
    if draw(st.integers(0, 7)) == 0:  # only one pass
        size = (width, size[1]) if draw(st.booleans()) else (size[0], height)
    box = None
    kind = draw(st.sampled_from(["none", "none", "whole numbers", "fractions"]))
    if kind != "none":
        spread = st.integers(0, 64) if kind == "whole numbers" else st.floats(0, 64, width=32)
        x = sorted(min(width, draw(spread) * width / 64) for _ in range(2))
        y = sorted(min(height, draw(spread) * height / 64) for _ in range(2))
        if kind == "whole numbers":
            x, y = [int(v) for v in x], [int(v) for v in y]
        box = (x[0], y[0], x[1], y[1])
    return pixels, size, draw(st.sampled_from(FILTERS)), box


def check(oracle, pixels, size, filter_, box, adaptive, window=None, step=4):
    want = oracle(pixels, size, filter_, box)
    if window is not None:
        top, left, height, width = window
        want = want[top : top + height, left : left + width]
    for level in simd_levels():
        code, got = resize(
            pixels, size, filter_, level=level, adaptive=adaptive, box=box, window=window, step=step
        )
        assert code == 0
        assert np.array_equal(got, want), f"level {level}: {np.argwhere(got != want)[:5]}"


@settings
@hypothesis.given(cases(), st.sampled_from([3, 4]))
def test_equals_this_pillow(case, step):
    check(pil_resize, *case, adaptive=NEW_PILLOW, step=step)


@pytest.fixture(scope="module")
def old_pillow():
    directory = os.environ.get("HEADRACE_TEST_PILLOW_OLD")
    if not directory:
        pytest.skip("HEADRACE_TEST_PILLOW_OLD is not set")
    old = OldPillow(directory)
    assert int(old.version.split(".")[0]) < 13
    yield old
    old.close()


@settings
@hypothesis.given(case=cases())
def test_equals_old_pillow(old_pillow, case):
    check(old_pillow.resize, *case, adaptive=False)


@settings
@hypothesis.given(case=cases(), data=st.data())
def test_output_window_needs_only_its_input_window(case, data):
    pixels, size, filter_, box = case
    top, left = data.draw(st.integers(0, size[1] - 1)), data.draw(st.integers(0, size[0] - 1))
    window = (
        top,
        left,
        data.draw(st.integers(1, size[1] - top)),
        data.draw(st.integers(1, size[0] - left)),
    )
    check(pil_resize, pixels, size, filter_, box, adaptive=NEW_PILLOW, window=window)


@pytest.mark.parametrize("filter_", FILTERS)
@pytest.mark.parametrize("shape", [(1, 700), (700, 1), (1, 1), (2, 511), (3, 3), (500, 375)])
@pytest.mark.parametrize("size", [(1, 1), (224, 224), (1, 224), (224, 1), (7, 300)])
def test_extreme_aspects(filter_, shape, size):
    for channels in (1, 3):
        pixels = picture(5, *shape, channels)
        check(pil_resize, pixels, size, filter_, None, adaptive=NEW_PILLOW)


@pytest.mark.parametrize("filter_", FILTERS)
def test_largest_and_smallest_values_do_not_wrap(filter_):
    for pixels in (
        np.full((90, 90, 3), 255, np.uint8),
        np.zeros((90, 90, 3), np.uint8),
        np.indices((90, 90)).sum(0).repeat(3).reshape(90, 90, 3).astype(np.uint8) % 2 * 255,
    ):
        for size in ((31, 33), (200, 190), (90, 40)):
            check(pil_resize, pixels, size, filter_, None, adaptive=NEW_PILLOW)


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 0, 11, 5), (0, 0, 5, 11), (6, 0, 5, 5)])
def test_refuses_boxes_that_pillow_refuses(box):
    pixels = picture(1, 10, 10, 3)
    with pytest.raises(ValueError):
        pil_resize(pixels, (4, 4), Image.Resampling.BILINEAR, box)
    code, _ = resize(pixels, (4, 4), Image.Resampling.BILINEAR, level=0, adaptive=True, box=box)
    assert code == 1
