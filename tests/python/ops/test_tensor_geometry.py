"""What moves the pixels of uint8 tensors and tv_tensors.Image, after PILToTensor or ToImage:
rotations, affine transforms, borders and crops equal torchvision's bit for bit."""

import pytest
import torch
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
from support.operators import check_image, compile_chain, native, noise
from support.tensor_chains import MODES, chain_of, check, firsts, modes, refusal
from support.torch_bits import needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = needs_vectors

rotations = st.one_of(bounds(angles), st.integers(0, 360))
PADDINGS = st.one_of(
    st.integers(0, 9),
    st.lists(st.integers(0, 9), min_size=2, max_size=2),
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
)
BORDERS = st.sampled_from(["constant", "edge", "reflect", "symmetric"])


@needs_products
@examples(500)
@given(st.data(), images(), apis, firsts, rotations, modes, centers, seeds)
def test_random_rotation(data, image, api, first, degrees, mode, center, seed):
    fill = data.draw(fills(image))
    rotation = APIS[api].RandomRotation(degrees, mode, center=center, fill=fill)
    check(image, seed, *first, rotation)


@needs_products
@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("angle", [0, 90, 180, 270, 360, -90, -180, 450, 720, -0.0, 1e-30, -1e-30])
def test_quarter_turns_and_what_is_next_to_them(api, mode, angle):
    beside = float(torch.nextafter(torch.tensor(float(angle)), torch.tensor(1000.0)))
    below = float(torch.nextafter(torch.tensor(float(angle)), torch.tensor(-1000.0)))
    for side in (31, 47):
        for exact in (angle, beside, below):
            for center in (None, (side // 2, 3)):
                turn = APIS[api].RandomRotation((exact, exact), mode, fill=5, center=center)
                jitter = APIS[api].ColorJitter(0.5, 0.5, 0.5, 0.5)
                check(noise(31, side, 3, side), side, v1.PILToTensor(), turn, jitter)


@needs_products
def test_a_quarter_turn_of_many_pixels_is_made_by_the_trainer():
    nodes = chain_of(v1.PILToTensor(), v2.RandomRotation((90, 90)))
    chain = compile_chain([("from_array", {"mode": "L"}), *nodes])
    chain.run(torch.zeros(256, 256, 1, dtype=torch.uint8).numpy(), 1)
    chain.run(torch.zeros(256, 257, 1, dtype=torch.uint8).numpy(), 1)
    with pytest.raises(native.Error, match="quarter turn"):
        chain.run(torch.zeros(257, 257, 1, dtype=torch.uint8).numpy(), 1)


@needs_products
@examples(500)
@given(st.data(), images(), apis, firsts, st.fixed_dictionaries(AFFINE), modes, seeds)
def test_random_affine(data, image, api, first, arguments, mode, seed):
    fill = data.draw(fills(image))
    if api == 1 and fill is None:
        fill = 0
    affine = APIS[api].RandomAffine(interpolation=mode, fill=fill, **arguments)
    check(image, seed, *first, affine)


@needs_products
@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("name", ["RandomRotation", "RandomAffine"])
@pytest.mark.parametrize("size", [(224, 224), (230, 171), (8, 8), (9, 8)])
def test_many_angles(api, name, size):
    """Some have so few pixels that torch multiplies the matrices itself."""
    transform = getattr(APIS[api], name)(180, interpolation=InterpolationMode.BILINEAR)
    nodes, image = chain_of(v1.PILToTensor(), transform), noise(*size, 3, 3)
    whole = v1.Compose([v1.PILToTensor(), transform])
    for seed in range(share(40 if size[0] > 100 else 400)):
        check_image(nodes, whole, image, seed)


@examples(300)
@given(images(least=10), apis, firsts, PADDINGS, BORDERS, seeds)
def test_pad(image, api, first, padding, border, seed):
    check(image, seed, *first, APIS[api].Pad(padding, 3, border))


@examples(300)
@given(images(least=10), apis, firsts, PADDINGS, BORDERS, st.integers(10, 19), seeds)
def test_random_crop(image, api, first, padding, border, side, seed):
    crop = APIS[api].RandomCrop(side, padding, pad_if_needed=True, fill=3, padding_mode=border)
    check(image, seed, *first, crop)


@pytest.mark.parametrize("fill", [(9, 8, 7), [5]])
def test_lists_of_fills_that_v1_raises_on(fill):
    for transform in (v1.Pad(2, fill), v1.RandomCrop(3, 2, fill=fill)):
        with pytest.raises(TypeError, match="fill"):
            transform(torch.zeros(3, 9, 9, dtype=torch.uint8))
        assert "one number, not with a list" in refusal(v1.PILToTensor(), transform)
        assert "one number, not with a list" in refusal(v1.ToTensor(), transform)
    check(noise(9, 9, 3, 1), 1, v2.ToImage(), v2.Pad(2, fill))
