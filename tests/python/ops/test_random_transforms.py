"""RandomRotation, RandomAffine and the single random operations equal torchvision's bit for bit, by
way of capture."""

import math

import pytest
import torch
from headrace.capture import NotNative
from headrace.native.transforms import nodes_of
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples, share
from support.image_strategies import (
    AFFINE,
    APIS,
    angles,
    apis,
    bounds,
    centers,
    fills,
    images,
    seeds,
)
from support.operators import check_file, check_image, compile_chain, jpeg, native, noise
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

MODES = [
    InterpolationMode.NEAREST,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
    InterpolationMode.NEAREST_EXACT,
]

modes = st.sampled_from(MODES)


def node_for(transform, op):
    node = nodes_of(v1.Compose([transform, v1.PILToTensor()]))[0]
    assert node.op == op and node.purity == "random"
    return node.op, node.args


def check(transform, op, image, seed):
    check_image([node_for(transform, op)], transform, image, seed)


@examples(500)
@given(st.data(), images(), apis, st.one_of(bounds(angles), st.integers(0, 360)), modes, seeds)
def test_random_rotation(data, image, api, degrees, mode, seed):
    fill, center = data.draw(fills(image, one=False)), data.draw(centers)
    transform = APIS[api].RandomRotation(degrees, mode, center=center, fill=fill)
    check(transform, "random_rotation", image, seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("angle", [0, 90, 180, 270, 360, -90, -180, 450, 720, -0.0, 1e-30, -1e-30])
def test_quarter_turns_and_what_is_next_to_them(api, mode, angle):
    beside = float(torch.nextafter(torch.tensor(float(angle)), torch.tensor(1000.0)))
    for side in (31, 47):
        for exact in (angle, beside):
            transform = APIS[api].RandomRotation((exact, exact), mode, fill=5)
            check(transform, "random_rotation", noise(31, side, 3, side), side)


@examples(600)
@given(st.data(), images(), apis, st.fixed_dictionaries(AFFINE), modes, seeds)
def test_random_affine(data, image, api, arguments, mode, seed):
    fill = data.draw(fills(image, one=False)) or 0
    transform = APIS[api].RandomAffine(interpolation=mode, fill=fill, **arguments)
    check(transform, "random_affine", image, seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("name", ["RandomRotation", "RandomAffine"])
def test_many_angles(api, name):
    """The sines are the C library's, as Python's are; the matrix is rounded as Python rounds."""
    transform = getattr(APIS[api], name)(180, interpolation=InterpolationMode.BILINEAR)
    op = {"RandomRotation": "random_rotation", "RandomAffine": "random_affine"}[name]
    node, image = node_for(transform, op), noise(24, 31, 1, 3)
    for seed in range(share(1500)):
        check_image([node], transform, image, seed)


OPERATIONS = {
    "RandomInvert": (),
    "RandomPosterize": st.integers(1, 8),
    "RandomSolarize": st.one_of(st.integers(-5, 300), st.floats(-5, 300)),
    "RandomAdjustSharpness": st.one_of(st.integers(0, 9), st.floats(0, 9)),
    "RandomAutocontrast": (),
    "RandomEqualize": (),
}


@examples(500)
@given(st.data(), images(), apis, st.sampled_from(list(OPERATIONS)), st.floats(0, 1), seeds)
def test_random_operation(data, image, api, name, p, seed):
    values = [data.draw(OPERATIONS[name])] if OPERATIONS[name] != () else []
    transform = getattr(APIS[api], name)(*values, p=p)
    check(transform, "random_operation", image, seed)


ON_TENSORS = {
    **OPERATIONS,
    "RandomPosterize": st.integers(0, 8),
    "RandomSolarize": st.one_of(st.integers(0, 255), st.floats(0, 255)),
}


@examples(500)
@given(st.data(), images(), apis, st.sampled_from(list(ON_TENSORS)), st.floats(0, 1), seeds)
def test_random_operation_of_tensors(data, image, api, name, p, seed):
    values = [data.draw(ON_TENSORS[name])] if ON_TENSORS[name] != () else []
    transform = getattr(APIS[api], name)(*values, p=p)
    nodes = [
        ("pil_to_tensor", {}),
        ("random_horizontal_flip", {}),
        node_for(transform, "random_operation"),
        ("pad", {"padding": [2], "fill": 3}),
        ("to_dtype", {"dtype": "float32", "scale": 1, "api": 2}),
    ]
    flip, pad = v2.RandomHorizontalFlip(), v2.Pad(2, 3)
    convert = v2.ToDtype(torch.float32, scale=True)
    whole = v1.Compose([v1.PILToTensor(), flip, transform, pad, convert])
    check_image(nodes, whole, image, seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_probability_just_above_the_number(api, name):
    """v1 compares in double, where p is above the number; v2 in float32, where it is not."""
    value = [4] if OPERATIONS[name] != () else []
    for seed in range(5):
        torch.manual_seed(seed)
        number = torch.rand(1).item()
        for p in (number, math.nextafter(number, 1), math.nextafter(number, 0)):
            transform = getattr(APIS[api], name)(*value, p=p)
            check(transform, "random_operation", noise(8, 9, 3, seed), seed)


@given(st.integers(1, 150), st.integers(1, 150), apis, seeds)
def test_files(height, width, api, seed):
    data = jpeg(noise(height, width, 3, seed % 999))
    lib = APIS[api]
    chosen = [
        (lib.RandomRotation(40, InterpolationMode.BILINEAR), "random_rotation"),
        (lib.RandomPosterize(2), "random_operation"),
        (lib.RandomAffine(10, (0.1, 0.3), (0.5, 2), 9), "random_affine"),
        (lib.RandomAdjustSharpness(2.5), "random_operation"),
    ]
    crop = v1.CenterCrop(20)
    nodes = [node_for(transform, op) for transform, op in chosen]
    after = [("center_crop", {"size": 20})]
    check_file(nodes + after, v1.Compose([*(t for t, _ in chosen), crop]), data, seed)


class Mine(v1.RandomRotation):
    pass


def test_what_is_not_native_says_why():
    cases = [
        (Mine(3), "Mine has no native form"),
        (v1.RandomPosterize(2.0), "bits=2.0"),
        (v1.RandomSolarize("3"), "threshold='3'"),
        (v2.RandomAdjustSharpness(None), "sharpness_factor=None"),
        (v1.RandomRotation(3, "bilinear"), "interpolation='bilinear'"),
        (v2.RandomRotation(3, fill={torch.Tensor: 1}), "fill="),
        (v2.JPEG((50, 60)), "JPEG has no native form"),
    ]
    for transform, reason in cases:
        with pytest.raises(NotNative, match=reason):
            nodes_of(v1.Compose([transform, v1.ToTensor()]))


@pytest.mark.parametrize("api", [1, 2])
def test_what_the_operators_refuse(api):
    lib = APIS[api]
    cases = [
        (lib.RandomRotation(3, expand=True), "random_rotation", "images of random sizes"),
        (lib.RandomRotation(3, InterpolationMode.LANCZOS), "random_rotation", "nearest, bilinear"),
        (lib.RandomRotation((3, 1)), "random_rotation", "not bounds of random numbers"),
        (lib.RandomRotation(3, fill=300), "random_rotation", "not a value of the image"),
        (lib.RandomAffine(3, scale=(2, 1)), "random_affine", "not bounds of random numbers"),
        (lib.RandomAffine(3, fill=(1, 2)), "random_affine", "fill has 2 values"),
        (lib.RandomPosterize(0), "random_operation", "framework raises"),
    ]
    source = ("from_array", {"mode": "RGB"})
    for transform, op, reason in cases:
        with pytest.raises(native.Error, match="Unsupported: node") as error:
            compile_chain([source, node_for(transform, op)])
        assert reason in str(error.value)
    for transform, reason in (
        (lib.RandomInvert(), "tensors of float32 to other bits"),
        (lib.RandomSolarize(256.0), "tensors of float32 to other bits"),
    ):
        node = node_for(transform, "random_operation")
        with pytest.raises(native.Error, match=reason):
            compile_chain([source, ("to_tensor", {}), node])
    node = node_for(lib.RandomSolarize(256.0), "random_operation")
    with pytest.raises(native.Error, match="framework raises"):
        compile_chain([source, ("pil_to_tensor", {}), node])
    for threshold in (-1, -255, -0.5):  # torch takes -1 for the byte 255
        node = node_for(lib.RandomSolarize(threshold), "random_operation")
        with pytest.raises(native.Error, match="below 0"):
            compile_chain([source, ("pil_to_tensor", {}), node])
