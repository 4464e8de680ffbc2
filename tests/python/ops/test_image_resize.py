"""ops/vision/resample against Pillow's Image.resize, bit for bit."""

import os

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from PIL import Image
from support.image_kernels import OldPillow, ThisPillow, picture, resize, settings, simd_levels

FILTERS = [
    Image.Resampling.NEAREST,
    Image.Resampling.BOX,
    Image.Resampling.BILINEAR,
    Image.Resampling.HAMMING,
    Image.Resampling.BICUBIC,
    Image.Resampling.LANCZOS,
]

sides = st.one_of(st.integers(1, 12), st.integers(1, 120), st.integers(1, 700))


@st.composite
def cases(draw):
    width, height = draw(sides), draw(sides)
    if draw(st.integers(0, 5)) == 0:
        width = draw(st.integers(1, 6))
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


def check(pillow, pixels, size, filter_, box=None, window=None, step=4):
    want = pillow.resize(pixels, size, filter_, box)
    if window is not None:
        top, left, height, width = window
        want = want[top : top + height, left : left + width]
    for level in simd_levels():
        code, got = resize(
            pixels,
            size,
            filter_,
            level=level,
            version=pillow.version,
            box=box,
            window=window,
            step=step,
        )
        assert code == 0
        assert np.array_equal(got, want), f"level {level}: {np.argwhere(got != want)[:5]}"


@pytest.fixture(scope="module", params=["this", "old"])
def pillow(request):
    if request.param == "this":
        pillow = ThisPillow()
    else:
        directory = os.environ.get("HEADRACE_TEST_PILLOW_OLD")
        if not directory:
            pytest.skip("HEADRACE_TEST_PILLOW_OLD is not set")
        pillow = OldPillow(directory)
        assert int(pillow.version.split(".")[0]) < 13
    yield pillow
    pillow.close()


@settings
@hypothesis.given(case=cases(), step=st.sampled_from([3, 4]))
def test_whole_output(pillow, case, step):
    check(pillow, *case, step=step)


@settings
@hypothesis.given(case=cases(), data=st.data())
def test_output_window_needs_only_its_input_window(pillow, case, data):
    size = case[1]
    top, left = data.draw(st.integers(0, size[1] - 1)), data.draw(st.integers(0, size[0] - 1))
    height, width = (
        data.draw(st.integers(1, size[1] - top)),
        data.draw(st.integers(1, size[0] - left)),
    )
    check(pillow, *case, window=(top, left, height, width))


@pytest.mark.parametrize("filter_", FILTERS)
@pytest.mark.parametrize("shape", [(1, 700), (700, 1), (1, 1), (2, 511), (3, 3), (500, 375)])
@pytest.mark.parametrize("size", [(1, 1), (224, 224), (1, 224), (224, 1), (7, 300)])
def test_extreme_aspects(pillow, filter_, shape, size):
    for channels in (1, 3):
        check(pillow, picture(5, *shape, channels), size, filter_)


@pytest.mark.parametrize("height", [99, 100, 101, 200, 201, 650])
@pytest.mark.parametrize("width", [1, 2, 6])
def test_towers(pillow, height, width):
    """Pillow 12.2 and 12.3 have a rule of their own for images above 100 times their width."""
    pixels = picture(6, height, width, 3)
    for size in [(5, 30), (1, 99), (3, 700), (width, 50)]:
        for filter_ in FILTERS:
            check(pillow, pixels, size, filter_)
            check(pillow, pixels, size, filter_, box=(0.5, 10.25, width, height - 3))


@pytest.mark.parametrize("filter_", FILTERS)
def test_largest_and_smallest_values_do_not_wrap(pillow, filter_):
    for pixels in (
        np.full((90, 90, 3), 255, np.uint8),
        np.zeros((90, 90, 3), np.uint8),
        np.indices((90, 90)).sum(0).repeat(3).reshape(90, 90, 3).astype(np.uint8) % 2 * 255,
    ):
        for size in ((31, 33), (200, 190), (90, 40)):
            check(pillow, pixels, size, filter_)


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 0, 11, 5), (0, 0, 5, 11), (6, 0, 5, 5)])
def test_refuses_boxes_that_pillow_refuses(box):
    pixels, this = picture(1, 10, 10, 3), ThisPillow()
    bilinear = Image.Resampling.BILINEAR
    with pytest.raises(ValueError):
        this.resize(pixels, (4, 4), bilinear, box)
    assert resize(pixels, (4, 4), bilinear, level=0, version=this.version, box=box)[0] == 1
