"""ops/vision/pointwise against torchvision's arithmetic, bit for bit."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from support.image_kernels import picture, pointwise_levels, settings, table_f32

torch = pytest.importorskip("torch")

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def to_tensor_and_normalize(pixels):
    """ToTensor (a true division) and Normalize as torchvision computes them: [...,C] u8 -> f32."""
    image = torch.from_numpy(pixels).permute(2, 0, 1).contiguous().to(torch.float32).div(255)
    channels = image.shape[0]
    mean = torch.as_tensor(MEAN[:channels]).view(-1, 1, 1)
    std = torch.as_tensor(STD[:channels]).view(-1, 1, 1)
    return image.sub_(mean).div_(std).numpy()


@settings
@hypothesis.given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 40),
    st.one_of(st.integers(1, 70), st.integers(1, 2500)),
    st.sampled_from([(1, 1), (3, 3), (3, 4)]),
    st.booleans(),
    st.booleans(),
)
def test_ramp_through_the_framework_is_the_table(seed, height, width, layout, flip_x, flip_y):
    channels, step = layout
    pixels = picture(seed, height, width, 4)[:, :, :step]
    ramp = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], channels, axis=2)
    table = to_tensor_and_normalize(ramp)[:, 0, :]
    want = to_tensor_and_normalize(np.ascontiguousarray(pixels[:, :, :channels]))
    want = want[:, :: -1 if flip_y else 1, :: -1 if flip_x else 1]
    for level in pointwise_levels():
        got = table_f32(pixels, table, channels, level=level, flip=(flip_x, flip_y))
        assert np.array_equal(got.view(np.int32), np.ascontiguousarray(want).view(np.int32))
