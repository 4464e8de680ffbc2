"""ColorJitter and the grays of uint8 tensors and tv_tensors.Image, after PILToTensor or ToImage,
equal torchvision's bit for bit."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.extent import BRIEF, ONE_IN, examples, share
from support.image_strategies import APIS, apis, images, seeds
from support.operators import compile_chain, every_value, native, noise
from support.tensor_chains import chain_of, check, firsts
from support.torch_bits import needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import v2

pytestmark = needs_vectors

strengths = st.one_of(st.just(0), st.floats(0, 3))
hues = st.one_of(st.just(0), st.floats(0, 0.5))


@examples(500)
@given(images(), apis, firsts, strengths, strengths, strengths, hues, seeds)
def test_color_jitter(image, api, first, brightness, contrast, saturation, hue, seed):
    jitter = APIS[api].ColorJitter(brightness, contrast, saturation, hue)
    check(image, seed, *first, jitter)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("hue", [-0.5, -0.3141, -1e-9, 0.0, 1e-9, 0.1, 1 / 3, 0.5])
def test_hue_of_many_colours(api, hue):
    """A sixth of all colours, with every pair of values among them; fewer in the brief extent."""
    jitter = APIS[api].ColorJitter(hue=(hue, hue))
    if hue == 0:
        jitter.hue = (0.0, 1e-30)
    values = torch.arange(256, dtype=torch.uint8)
    for blue in range(0, 256, 6 * (ONE_IN if BRIEF else 1)):
        red, green = torch.meshgrid(values, values, indexing="ij")
        pixels = torch.stack([red, green, (red // 2 + blue).to(torch.uint8)])
        for turned in (pixels, pixels.roll(1, 0)):
            check(v1.functional.to_pil_image(turned), 1, v1.PILToTensor(), jitter)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("what", ["brightness", "contrast", "saturation"])
@pytest.mark.parametrize("factor", [0.0, 0.1, 0.5, 0.999, 1.001, 1.7, 20.0])
def test_factors(api, what, factor):
    jitter = APIS[api].ColorJitter(**{what: (factor, factor)})
    for channels in (1, 3):
        check(every_value(channels), 1, v1.PILToTensor(), jitter)
    check(noise(100, 100, 3, 3), 1, v1.PILToTensor(), jitter)


@pytest.mark.parametrize(
    "first", [v1.PILToTensor(), v2.ToImage(), v2.Compose([v2.ToImage(), v2.Pad(1)])]
)
def test_the_ends_of_a_contrast_of_v2(first):
    """torch blends the last values of a tensor in another way than the others. Small images have many
    of them, and factors of few digits many sums that are almost whole."""
    refused = 0
    for seed in range(share(1200)):
        rng = np.random.default_rng(seed)
        height, width = (int(side) for side in rng.integers(1, 8, 2))
        factor = float(rng.choice([0.1, 0.2, 0.25, 0.3, 0.7, 1.1, 1.3, 1.5]))
        jitter = v2.ColorJitter(contrast=(factor, factor))
        pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
        refused += not check(Image.fromarray(pixels), seed, first, jitter)
    assert 0 < refused < 200


def nearly_constant(height, width, seed):
    """The mean is a whole number but for a few pixels."""
    rng = np.random.default_rng(seed)
    pixels = np.full(height * width, rng.integers(40, 255), np.uint8)
    where = rng.integers(0, pixels.size, rng.integers(1, 60))
    pixels[where] += rng.choice(np.array([1, 255], np.uint8), where.size)
    return Image.fromarray(pixels.reshape(height, width))


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize(
    "size", [(224, 224), (257, 257), (500, 375), (1024, 513), (1003, 1001), (1450, 1451)]
)
def test_means_of_large_images(api, size, one_thread):
    """Sums of more than 2^24, whose rounding depends on how torch's vectors add up. What is left of
    an image without contrast is its mean, cut."""
    contrast = APIS[api].ColorJitter(contrast=(0, 0))
    for seed in range(share(150 if size[0] < 1000 else 40)):
        check(nearly_constant(*size, seed), seed, v1.PILToTensor(), contrast)
    for seed in range(4):
        jitter = APIS[api].ColorJitter(contrast=(0, 3))
        check(noise(*size, 3, seed), seed, v2.ToImage(), jitter)


@needs_products
@pytest.mark.parametrize("api", [1, 2])
def test_a_mean_that_is_not_known_is_made_by_the_trainer(api):
    nodes = [("from_array", {"mode": "L"}), *chain_of(v1.PILToTensor())]
    image = torch.zeros(1452, 1451, 1, dtype=torch.uint8).numpy()
    for transform in (APIS[api].ColorJitter(contrast=1), APIS[api].RandAugment()):
        chain = compile_chain([*nodes, *chain_of(transform, v1.PILToTensor())[:1]])
        with pytest.raises(native.Error, match="mean of that many pixels"):
            chain.run(image, 1)
    chain = compile_chain([*nodes, ("color_jitter", {"brightness": 1, "api": api})])
    chain.run(image, 1)


@examples(300)
@given(images(), apis, firsts, st.sampled_from([1, 3]), seeds)
def test_grayscale(image, api, first, count, seed):
    check(image, seed, *first, APIS[api].Grayscale(count))


@examples(200)
@given(images(), apis, firsts, st.floats(0, 1), seeds)
def test_random_grayscale(image, api, first, p, seed):
    flip = v2.RandomHorizontalFlip()
    check(image, seed, *first, APIS[api].RandomGrayscale(p), flip)


@pytest.mark.parametrize("api", [1, 2])
def test_grays_of_many_colours(api):
    values = torch.arange(256, dtype=torch.uint8)
    red, green = torch.meshgrid(values, values, indexing="ij")
    for blue in range(0, 256, ONE_IN if BRIEF else 1):
        image = v1.functional.to_pil_image(torch.stack([red, green, torch.full_like(red, blue)]))
        check(image, 1, v1.PILToTensor(), APIS[api].Grayscale(1))
