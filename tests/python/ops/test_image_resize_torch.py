"""ops/vision/resample against torchvision's resize of tensors, bit for bit.

torch's weights depend on the sizes alone, so many sizes are tried.
"""

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from PIL import Image
from support.image_kernels import (
    NEAREST_EXACT,
    TORCH_BYTES,
    TORCH_FLOATS,
    picture,
    resize,
    settings,
    simd_levels,
)
from support.torch_bits import needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = needs_vectors

MODES = {
    InterpolationMode.NEAREST: Image.Resampling.NEAREST,
    InterpolationMode.NEAREST_EXACT: NEAREST_EXACT,
    InterpolationMode.BILINEAR: Image.Resampling.BILINEAR,
    InterpolationMode.BICUBIC: Image.Resampling.BICUBIC,
    InterpolationMode.LANCZOS: Image.Resampling.LANCZOS,
}
# What is native: API, mode, antialias.
WAYS = [
    *((2, mode, True) for mode in MODES),
    (2, InterpolationMode.BILINEAR, False),
    (2, InterpolationMode.BICUBIC, False),
    *((1, mode, True) for mode in MODES if mode != InterpolationMode.LANCZOS),
]

sides = st.one_of(st.integers(1, 12), st.integers(1, 120), st.integers(1, 700))


def torchs(pixels, size, way, contiguous=False):
    api, mode, antialias = way
    tensor = torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1)).permute(2, 0, 1)
    if contiguous:
        tensor = tensor.contiguous()
    functional = v1.functional if api == 1 else v2.functional
    result = functional.resize(tensor, list(size[::-1]), mode, antialias=antialias)
    result = result.permute(1, 2, 0).numpy()
    return result[:, :, 0] if pixels.ndim == 2 else result


def check(pixels, size, way, window=None, step=4, contiguous=False):
    if size[0] == 1:
        return  # the operators refuse it: torch takes rows for columns there, or fails
    want = torchs(pixels, size, way, contiguous)
    if window is not None:
        top, left, height, width = window
        want = want[top : top + height, left : left + width]
    api, mode, antialias = way
    for level in simd_levels():
        code, got = resize(
            pixels,
            size,
            MODES[mode],
            level=level,
            window=window,
            step=step,
            arithmetic=TORCH_FLOATS if api == 1 else TORCH_BYTES,
            antialias=antialias,
        )
        assert code == 0
        assert np.array_equal(got, want), f"level {level}: {np.argwhere(got != want)[:5]}"


@st.composite
def cases(draw):
    width, height = draw(sides), draw(sides)
    pixels = picture(
        draw(st.integers(0, 2**32 - 1)), height, width, draw(st.sampled_from([3, 3, 1]))
    )
    size = (draw(sides), draw(sides))
    kind = draw(st.integers(0, 7))
    if kind == 0:  # only one pass
        size = (width, size[1]) if draw(st.booleans()) else (size[0], height)
    if kind == 1:  # whole ratios, where sums and positions are ties
        times, parts = draw(st.integers(1, 6)), draw(st.integers(1, 6))
        size = (width * times, max(1, height // parts))
    return pixels, size


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings
@hypothesis.given(case=cases(), step=st.sampled_from([3, 4]), contiguous=st.booleans())
def test_whole_output(way, case, step, contiguous):
    check(*case, way, step=step, contiguous=contiguous)


@pytest.mark.parametrize("way", WAYS, ids=str)
@settings
@hypothesis.given(case=cases(), data=st.data())
def test_output_window_needs_only_its_input_window(way, case, data):
    size = case[1]
    top, left = data.draw(st.integers(0, size[1] - 1)), data.draw(st.integers(0, size[0] - 1))
    height, width = (
        data.draw(st.integers(1, size[1] - top)),
        data.draw(st.integers(1, size[0] - left)),
    )
    check(*case, way, window=(top, left, height, width))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("shape", [(1, 700), (700, 1), (1, 1), (2, 511), (3, 3), (500, 375)])
@pytest.mark.parametrize("size", [(2, 1), (224, 224), (2, 224), (224, 1), (7, 300)])
def test_extreme_aspects(way, shape, size):
    for channels in (1, 3):
        check(picture(5, *shape, channels), size, way)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_largest_and_smallest_values_do_not_wrap(way):
    for pixels in (
        np.full((90, 90, 3), 255, np.uint8),
        np.zeros((90, 90, 3), np.uint8),
        np.indices((90, 90)).sum(0).repeat(3).reshape(90, 90, 3).astype(np.uint8) % 2 * 255,
    ):
        for size in ((31, 33), (200, 190), (90, 40)):
            check(pixels, size, way)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_width_to_a_common_side(way):
    """One row, and two columns: what is compared are the weights."""
    for length in range(1, 1200, 7):
        check(picture(length, 1, length, 1), (224, 1), way)
        check(picture(length, length, 2, 1), (2, 256), way)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize(
    ("length", "to"), [(2, 41), (2, 109), (4, 82), (2, 123), (2, 141), (2, 189), (2, 249)]
)
def test_positions_that_depend_on_the_size_of_the_output(api, length, to):
    """Where torch's two formulas for nearest-exact differ."""
    way = (api, InterpolationMode.NEAREST_EXACT, True)
    pixels = picture(3, length, length, 3)
    for size in [(to, 2), (to, 5), (to, 128 - to), (to, 129 - to), (to, 200), (9, to), (128, to)]:
        if size[1] > 0:
            check(pixels, size, way)
