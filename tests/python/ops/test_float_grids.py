"""Rotations, affine transforms and perspectives of float32 tensors, and perspectives of uint8 tensors,
equal torchvision's bit for bit, with their draws, by way of capture."""

import numpy as np
import pytest
import torch
from headrace.native import augment, float_bits
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.image_strategies import AFFINE, APIS, angles, apis, bounds, centers, images, seeds
from support.operators import check_file, check_image, compile_chain, jpeg, native, noise
from support.tensor_chains import MODES, chain_of, firsts, modes, refusal
from support.torch_bits import multiply_matrices, needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = [needs_vectors, needs_products]

FLOATS = {
    "ToTensor": lambda: [v1.ToTensor()],
    "ToImage, ToDtype": lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    "ToDtype without scale": lambda: [v2.PILToTensor(), v2.ToDtype(torch.float32)],
    # Elements below 0, and zeros with a sign.
    "Normalize": lambda: [v1.ToTensor(), v1.Normalize([0.4], [0.3])],
    "zeros with a sign": lambda: [v1.ToTensor(), v1.Normalize([0.0], [-0.5])],
    "moved": lambda: [v2.ToImage(), v2.ToDtype(torch.float32), v2.Pad(3, -0.0)],
}
conversions = st.sampled_from(list(FLOATS))
# What the trainer makes.
TRAINERS = ("corners of an image lie on a line", "divided by almost 0", "turned into a line")


@st.composite
def fills(draw, image, value):
    count = len(image.getbands())
    many = st.lists(value, min_size=count, max_size=count)
    return draw(st.one_of(st.none(), value, many, many.map(tuple)))


float_values = st.one_of(st.floats(-3, 3, width=32), st.sampled_from([0, 1, -0.0, 0.1, 0.456]))
byte_values = st.one_of(st.integers(0, 255), st.floats(0, 255))


def check(image, seed, *transforms):
    """False: the trainer makes this image."""
    transform = v1.Compose(list(transforms))
    try:
        return check_image(chain_of(*transforms), transform, image, seed)
    except native.Error as refused:
        assert any(reason in str(refused) for reason in TRAINERS), refused
        return False
    except RuntimeError as raised:  # torch finds no solution, nor do we
        assert "least squares" in str(raised)
        return False


@examples(500)
@given(st.data(), images(), apis, conversions, st.one_of(bounds(angles), st.integers(0, 360)), modes,
       centers, seeds)  # fmt: skip
def test_random_rotation(data, image, api, first, degrees, mode, center, seed):
    fill = data.draw(fills(image, float_values))
    fill = 0 if fill is None and api == 1 else fill
    rotation = APIS[api].RandomRotation(degrees, mode, center=center, fill=fill)
    check(image, seed, *FLOATS[first](), rotation)


@examples(500)
@given(st.data(), images(), apis, conversions, st.fixed_dictionaries(AFFINE), modes, seeds)
def test_random_affine(data, image, api, first, arguments, mode, seed):
    fill = data.draw(fills(image, float_values))
    fill = 0 if fill is None and api == 1 else fill
    affine = APIS[api].RandomAffine(interpolation=mode, fill=fill, **arguments)
    check(image, seed, *FLOATS[first](), affine)


@examples(500)
@given(st.data(), images(3), apis, conversions, st.floats(0, 1), modes, seeds)
def test_random_perspective(data, image, api, first, distortion, mode, seed):
    fill = data.draw(fills(image, float_values))
    fill = 0 if fill is None and api == 1 else fill
    perspective = APIS[api].RandomPerspective(distortion, 0.9, mode, fill)
    check(image, seed, *FLOATS[first](), perspective)


@examples(500)
@given(st.data(), images(3), apis, firsts, st.floats(0, 1), modes, seeds)
def test_random_perspective_of_bytes(data, image, api, first, distortion, mode, seed):
    fill = data.draw(fills(image, byte_values))
    fill = 0 if fill is None and api == 1 else fill
    perspective = APIS[api].RandomPerspective(distortion, 0.9, mode, fill)
    check(image, seed, *first, perspective)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", [[v1.ToTensor()], [v2.PILToTensor()]])
def test_perspectives_that_programs_draw_are_native(api, mode, first):
    for seed in range(20):
        image = noise(96, 128, 3, seed)
        perspective = APIS[api].RandomPerspective(0.5, 1.0, mode)
        assert check(image, seed, *first, perspective)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("angle", [0, 90, 180, 270, -90, 450])
@pytest.mark.parametrize("mode", MODES)
def test_quarter_turns(api, mode, angle):
    turn = APIS[api].RandomRotation((angle, angle), mode, fill=0.3)
    for shape in ((31, 31), (31, 47)):
        for channels in (1, 3):
            assert check(noise(*shape, channels, 5), 1, v1.ToTensor(), turn, v1.CenterCrop(20))


@examples(150)
@given(st.data(), images(20), seeds)
def test_among_other_operators(data, image, seed):
    steps = [
        v1.RandomRotation(30, InterpolationMode.BILINEAR),
        v2.RandomAffine(10, (0.1, 0.2), (0.8, 1.3), 5),
        v2.RandomPerspective(0.3),
        v1.Normalize([0.5], [0.25]),
        v2.RandomHorizontalFlip(),
        v1.RandomCrop(18),
        v2.RandomInvert(),
        v1.RandomApply([v1.RandomAffine(5)], 0.5),
        v2.Resize((19, 25), antialias=True),
    ]
    chosen = data.draw(st.permutations(steps))[:5]
    check(image, seed, v1.ToTensor(), *chosen)


@given(st.integers(40, 200), st.integers(40, 200), seeds)
def test_files(height, width, seed):
    steps = [
        v1.ToTensor(),
        v1.RandomResizedCrop(64),
        v1.RandomRotation(15),
        v1.RandomAffine(0, (0.1, 0.1), fill=0.5),
        v1.Normalize([0.4], [0.3]),
    ]
    data = jpeg(noise(height, width, 3, seed % 99))
    check_file(chain_of(*steps), v1.Compose(steps), data, seed)


@pytest.mark.parametrize("form", [augment.FUSED_WHERE_LARGE, augment.NEVER_FUSED])
@pytest.mark.parametrize("api", APIS)
def test_both_ways_to_multiply_matrices(api, form, monkeypatch):
    """Those of other CPUs, in torch's place."""
    multiply_matrices(monkeypatch, form)
    of = APIS[api]
    for seed in range(12):
        image = noise(9 + 5 * seed, 60 - 3 * seed, 3, seed)
        mode = MODES[seed % 2]
        for first in ([v1.ToTensor()], [v1.PILToTensor()]):
            assert check(image, seed, *first, of.RandomPerspective(0.4, 1.0, mode))
        assert check(image, seed, v1.ToTensor(), of.RandomRotation(40, mode))


def test_what_is_not_native_says_why(monkeypatch):
    for api in APIS.values():
        bicubic = api.RandomRotation(9, InterpolationMode.BICUBIC)
        assert "nearest or bilinear only" in refusal(v1.ToTensor(), bicubic)
        double = v2.ToDtype(torch.float64)
        assert "uint8 or float32 only" in refusal(v1.ToTensor(), double, api.RandomAffine(9))
        assert "uint8 or float32 only" in refusal(v1.ToTensor(), double, api.RandomPerspective())
    real = float_bits.checksums
    monkeypatch.setattr(float_bits, "checksums", lambda *way: (1, *real(*way)[1:]))
    assert "to other bits" in refusal(v1.ToTensor(), v2.RandomAffine(9))
    assert "to other bits" in refusal(v1.ToTensor(), v2.RandomPerspective())


def test_only_tensors_carry_what_older_workers_refuse():
    args = chain_of(v2.RandomPerspective(), v1.ToTensor())[0][1]
    assert not {"tensor_grids", "api", "floats"} & args.keys()
    args = chain_of(v2.ToImage(), v2.RandomPerspective())[1][1]
    assert {"tensor_grids", "api"} <= args.keys() and "floats" not in args
    assert chain_of(v1.ToTensor(), v1.RandomRotation(3))[1][1]["floats"] == 1


def test_elements_that_are_not_finite_are_left_to_the_trainer():
    nodes = chain_of(v1.ToTensor(), v1.Normalize([0.0], [1e-39]), v1.RandomRotation((9, 9)))
    chain = compile_chain([("from_array", {"mode": "RGB"}), *nodes])
    with pytest.raises(native.Error, match="no finite numbers"):
        chain.run(np.full((9, 9, 3), 255, np.uint8), 0)
