"""Element types of tensors: conversions, Normalize and fills, for every value of a pixel."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.operators import SEEDS, as_array, assert_same_bits, check_image, every_value, noise
from torchvision import transforms as v1
from torchvision.transforms import v2

APIS = {1: v1, 2: v2}
TO_TENSOR = ("to_tensor", {})

seeds = st.integers(0, SEEDS)
apis = st.sampled_from([1, 2])
channels = st.sampled_from([1, 3])


@st.composite
def images(draw):
    side = st.integers(1, 30)
    return noise(draw(side), draw(side), draw(channels), draw(st.integers(0, 999)))


CONVERSIONS = {
    "to_tensor": (v1.ToTensor(), [TO_TENSOR]),
    "pil_to_tensor": (v1.PILToTensor(), [("pil_to_tensor", {})]),
    "v2.pil_to_tensor": (v2.PILToTensor(), [("pil_to_tensor", {})]),
    "to_image": (v2.ToImage(), [("to_image", {})]),
    "to_dtype scale": (
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]),
        [("to_image", {}), ("to_dtype", {"dtype": "float32", "scale": True, "api": 2})],
    ),
    "to_dtype": (
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32), v2.ToDtype(torch.float32, True)]),
        [
            ("to_image", {}),
            ("to_dtype", {"dtype": "float32", "api": 2}),
            ("to_dtype", {"dtype": "float32", "scale": True, "api": 2}),
        ],
    ),
    "v1.convert_image_dtype": (
        v1.Compose([v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)]),
        [("pil_to_tensor", {}), ("to_dtype", {"dtype": "float32", "scale": 1, "api": 1})],
    ),
    "v2.convert_image_dtype": (
        v2.Compose([v2.PILToTensor(), v2.ConvertImageDtype(torch.float32)]),
        [("pil_to_tensor", {}), ("to_dtype", {"dtype": "float32", "scale": 1, "api": 2})],
    ),
    "to_image of a tensor": (
        v2.Compose([v1.ToTensor(), v2.ToImage()]),
        [TO_TENSOR, ("to_image", {})],
    ),
}


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("channel_count", [1, 3])
def test_conversions_of_every_value(name, channel_count):
    transform, nodes = CONVERSIONS[name]
    check_image(nodes, transform, every_value(channel_count), 0)


def test_v1_and_v2_scale_differently():
    """The reason for the argument "api": were it ever the same, the argument could go."""
    ramp = every_value(1)
    one = as_array(v1.ToTensor()(ramp))
    two = as_array(CONVERSIONS["to_dtype scale"][0](ramp))
    with pytest.raises(AssertionError):
        assert_same_bits(one, two)


INTEGERS = ["int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def conversion(api, dtype, scale=True):
    """(transform, node) of one change of the element type."""
    element = getattr(torch, dtype)
    args = {"dtype": dtype, "scale": scale, "api": api}
    if api == 1:
        return v1.ConvertImageDtype(element), ("to_dtype", args)
    return v2.ToDtype(element, scale=scale), ("to_dtype", args)


@pytest.mark.parametrize(("api", "scale"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_element_types_of_every_value(dtype, api, scale):
    transform, node = conversion(api, dtype, scale)
    nodes = [("pil_to_tensor", {}), node]
    check_image(nodes, v1.Compose([v1.PILToTensor(), transform]), every_value(3), 0)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("first", FLOATS)
@pytest.mark.parametrize("second", FLOATS)
def test_one_float_type_after_another(first, second, api):
    steps = [conversion(api, first), conversion(api, second)]
    transform = v1.Compose([v1.PILToTensor(), *(transform for transform, _ in steps)])
    nodes = [("pil_to_tensor", {}), *(node for _, node in steps)]
    check_image(nodes, transform, every_value(3), 0)


@given(
    st.sampled_from(FLOATS),
    apis,
    st.lists(st.floats(-3, 3), min_size=3, max_size=3),
    st.lists(st.floats(0.01, 3), min_size=3, max_size=3),
)
def test_normalize_in_every_float_type(dtype, api, mean, std):
    convert, node = conversion(api, dtype)
    transform = v1.Compose([v1.PILToTensor(), convert, APIS[api].Normalize(mean, std)])
    nodes = [("pil_to_tensor", {}), node, ("normalize", {"mean": mean, "std": std})]
    check_image(nodes, transform, every_value(3), 0)


def check_fills(image, dtype, api, value, seed):
    convert, node = conversion(api, dtype)
    fills = [APIS[api].Pad(2, value), APIS[api].RandomErasing(value=value)]
    transform = v1.Compose([v1.PILToTensor(), convert, *fills])
    nodes = [
        ("pil_to_tensor", {}),
        node,
        ("pad", {"padding": 2, "fill": value}),
        ("random_erasing", {"value": value}),
    ]
    check_image(nodes, transform, image, seed)


@given(images(), st.sampled_from(FLOATS), apis, st.floats(-3, 3), seeds)
def test_fills_of_floats(image, dtype, api, value, seed):
    check_fills(image, dtype, api, value, seed)


@given(images(), st.sampled_from(INTEGERS), apis, st.integers(-128, 127), seeds)
def test_fills_of_integers(image, dtype, api, value, seed):
    check_fills(image, dtype, api, value, seed)


@given(images(), st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.sampled_from(FLOATS))
def test_fills_by_channel_are_float32_first(image, fill, dtype):
    convert, node = conversion(2, dtype)
    transform = v1.Compose([v1.PILToTensor(), convert, v2.Pad(2, fill)])
    nodes = [("pil_to_tensor", {}), node, ("pad", {"padding": 2, "fill": fill, "api": 2})]
    check_image(nodes, transform, image.convert("RGB"), 0)


@given(st.data(), channels, apis, st.booleans())
def test_normalize_of_every_value(data, count, api, single):
    numbers = st.floats(-3, 3)
    mean = data.draw(st.lists(numbers, min_size=count, max_size=count))
    std = data.draw(
        st.lists(numbers.filter(lambda x: abs(x) > 1e-3), min_size=count, max_size=count)
    )
    if single:
        mean, std = mean[:1], std[:1]
    transform = v1.Compose([v1.ToTensor(), APIS[api].Normalize(mean, std)])
    nodes = [TO_TENSOR, ("normalize", {"mean": mean, "std": std})]
    check_image(nodes, transform, every_value(count), 0)
