"""The operators on uint8 tensors and tv_tensors.Image, behind PILToTensor or ToImage, equal
torchvision's bit for bit.

Length: one file for the operators that share these strategies and what each refuses.
"""

import numpy as np
import pytest
import torch
from headrace.capture import augment
from headrace.capture.transforms import nodes_of
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
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
from support.operators import (
    LIBRARIES,
    check_file,
    check_image,
    compile_chain,
    every_value,
    jpeg,
    native,
    needs_products,
    noise,
)
from torchvision import transforms as v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode, v2

pytestmark = pytest.mark.skipif(
    LIBRARIES["cpu_capability"] == "DEFAULT", reason="tensors are native for AVX2 and AVX512 builds"
)

modes = st.sampled_from([InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
# What makes the tensor: of a PIL image, in channels-last memory; and what has moved its pixels.
firsts = st.sampled_from(
    [
        [v1.PILToTensor()],
        [v2.PILToTensor()],
        [v2.ToImage()],
        [v1.PILToTensor(), v1.RandomHorizontalFlip()],
        [v2.ToImage(), v2.RandomVerticalFlip()],
        [v2.ToImage(), v2.Pad(3, 9), v2.RandomHorizontalFlip()],
    ]
)


def chain_of(*transforms):
    return [(node.op, node.args) for node in nodes_of(v1.Compose(list(transforms)))]


def check(image, seed, *transforms):
    check_image(chain_of(*transforms), v1.Compose(list(transforms)), image, seed)


@needs_products
@settings(max_examples=400)
@given(st.data(), images(), apis, firsts, st.integers(2, 40), modes, seeds)
def test_trivial_augment_wide(data, image, api, first, bins, mode, seed):
    fill = data.draw(fills(image))
    check(image, seed, *first, APIS[api].TrivialAugmentWide(bins, mode, fill))


@needs_products
@settings(max_examples=400)
@given(st.data(), images(), apis, firsts, st.integers(0, 4), st.integers(2, 40), modes, seeds)
def test_rand_augment(data, image, api, first, count, bins, mode, seed):
    fill, magnitude = data.draw(fills(image)), data.draw(st.integers(0, bins - 1))
    check(image, seed, *first, APIS[api].RandAugment(count, magnitude, bins, mode, fill))


@needs_products
@settings(max_examples=400)
@given(st.data(), images(), apis, firsts, st.sampled_from(AutoAugmentPolicy), modes, seeds)
def test_auto_augment(data, image, api, first, policy, mode, seed):
    check(image, seed, *first, APIS[api].AutoAugment(policy, mode, data.draw(fills(image))))


@needs_products
@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", [InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
@pytest.mark.parametrize("fill", [None, (7.5,)])
def test_every_operation_and_magnitude(api, mode, fill):
    """868 draws there are, a quarter turn among them; 1500 seeds miss few."""
    pictures = [noise(33, 47, 3, 1), noise(40, 40, 3, 2), noise(40, 40, 1, 3), noise(3, 60, 3, 4)]
    transforms = v1.PILToTensor(), APIS[api].TrivialAugmentWide(interpolation=mode, fill=fill)
    nodes, transform = chain_of(*transforms), v1.Compose(transforms)
    for seed in range(1500):
        check_image(nodes, transform, pictures[seed % 4], seed)


strengths = st.one_of(st.just(0), st.floats(0, 3))
hues = st.one_of(st.just(0), st.floats(0, 0.5))


@settings(max_examples=500)
@given(images(), apis, firsts, strengths, strengths, strengths, hues, seeds)
def test_color_jitter(image, api, first, brightness, contrast, saturation, hue, seed):
    jitter = APIS[api].ColorJitter(brightness, contrast, saturation, hue)
    check(image, seed, *first, jitter)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("hue", [-0.5, -0.3141, -1e-9, 0.0, 1e-9, 0.1, 1 / 3, 0.5])
def test_hue_of_many_colours(api, hue):
    """A sixth of all colours, with every pair of values among them."""
    jitter = APIS[api].ColorJitter(hue=(hue, hue))
    if hue == 0:
        jitter.hue = (0.0, 1e-30)
    values = torch.arange(256, dtype=torch.uint8)
    for blue in range(0, 256, 6):
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
    for seed in range(150 if size[0] < 1000 else 40):
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


@settings(max_examples=300)
@given(images(), apis, firsts, st.sampled_from([1, 3]), seeds)
def test_grayscale(image, api, first, count, seed):
    check(image, seed, *first, APIS[api].Grayscale(count))


@settings(max_examples=200)
@given(images(), apis, firsts, st.floats(0, 1), seeds)
def test_random_grayscale(image, api, first, p, seed):
    flip = v2.RandomHorizontalFlip()
    check(image, seed, *first, APIS[api].RandomGrayscale(p), flip)


@pytest.mark.parametrize("api", [1, 2])
def test_grays_of_many_colours(api):
    values = torch.arange(256, dtype=torch.uint8)
    red, green = torch.meshgrid(values, values, indexing="ij")
    for blue in range(256):
        image = v1.functional.to_pil_image(torch.stack([red, green, torch.full_like(red, blue)]))
        check(image, 1, v1.PILToTensor(), APIS[api].Grayscale(1))


rotations = st.one_of(bounds(angles), st.integers(0, 360))


@needs_products
@settings(max_examples=500)
@given(st.data(), images(), apis, firsts, rotations, modes, centers, seeds)
def test_random_rotation(data, image, api, first, degrees, mode, center, seed):
    fill = data.draw(fills(image))
    rotation = APIS[api].RandomRotation(degrees, mode, center=center, fill=fill)
    check(image, seed, *first, rotation)


@needs_products
@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", [InterpolationMode.NEAREST, InterpolationMode.BILINEAR])
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
@pytest.mark.parametrize("api", [1, 2])
def test_a_quarter_turn_by_a_policy_is_made_by_the_trainer(api):
    """The third of four magnitudes of 135 degrees."""
    nodes = chain_of(v1.PILToTensor(), APIS[api].TrivialAugmentWide(4))
    chain = compile_chain([("from_array", {"mode": "L"}), *nodes])
    for side in (256, 257):
        refused = 0
        for seed in range(200):
            try:
                chain.run(np.zeros((side, side, 1), np.uint8), seed)
            except native.Error as error:
                assert "quarter turn" in str(error)
                refused += 1
        assert (refused > 0) == (api == 2 and side == 257)


@needs_products
@settings(max_examples=500)
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
    """Also with so few pixels that torch multiplies the matrices itself."""
    transform = getattr(APIS[api], name)(180, interpolation=InterpolationMode.BILINEAR)
    nodes, image = chain_of(v1.PILToTensor(), transform), noise(*size, 3, 3)
    whole = v1.Compose([v1.PILToTensor(), transform])
    for seed in range(40 if size[0] > 100 else 400):
        check_image(nodes, whole, image, seed)


PADDINGS = st.one_of(
    st.integers(0, 9),
    st.lists(st.integers(0, 9), min_size=2, max_size=2),
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
)
BORDERS = st.sampled_from(["constant", "edge", "reflect", "symmetric"])


@settings(max_examples=300)
@given(images(least=10), apis, firsts, PADDINGS, BORDERS, seeds)
def test_pad(image, api, first, padding, border, seed):
    check(image, seed, *first, APIS[api].Pad(padding, 3, border))


@settings(max_examples=300)
@given(images(least=10), apis, firsts, PADDINGS, BORDERS, st.integers(10, 19), seeds)
def test_random_crop(image, api, first, padding, border, side, seed):
    crop = APIS[api].RandomCrop(side, padding, pad_if_needed=True, fill=3, padding_mode=border)
    check(image, seed, *first, crop)


@needs_products
@settings(max_examples=150)
@given(st.data(), images(least=30), apis, seeds)
def test_one_after_the_other(data, image, api, seed):
    """What one leaves in memory must not matter to the next."""
    lib = APIS[api]
    known = [
        lib.RandAugment(),
        lib.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR),
        lib.AutoAugment(fill=9),
        lib.AugMix(),
        lib.ColorJitter(0.4, 0.4, 0.4, 0.2),
        lib.RandomGrayscale(0.5),
        lib.Grayscale(3),
        lib.RandomRotation(90),
        lib.RandomRotation((90, 90)),
        lib.RandomAffine(10, (0.1, 0.2)),
        lib.RandomCrop(24, 2, padding_mode="reflect"),
        lib.RandomHorizontalFlip(),
        lib.RandomAdjustSharpness(2),
        lib.Pad(2, padding_mode="edge"),
    ]
    chosen = data.draw(st.lists(st.sampled_from(known), min_size=2, max_size=4))
    last = v1.ConvertImageDtype(torch.float32)
    check(image, seed, v1.PILToTensor(), *chosen, last)


@needs_products
@given(st.integers(30, 200), st.integers(30, 200), apis, seeds)
def test_files(height, width, api, seed):
    data = jpeg(noise(height, width, 3, seed % 999))
    lib = APIS[api]
    chosen = [
        v1.PILToTensor(),
        lib.ColorJitter(0.4, hue=0.1),
        lib.RandomRotation(40, InterpolationMode.BILINEAR),
        lib.RandAugment(),
        lib.RandomCrop(28),
        lib.RandomGrayscale(0.5),
    ]
    check_file(chain_of(*chosen), v1.Compose(chosen), data, seed)


@pytest.mark.parametrize("fill", [(9, 8, 7), [5]])
def test_lists_of_fills_that_v1_raises_on(fill):
    for transform in (v1.Pad(2, fill), v1.RandomCrop(3, 2, fill=fill)):
        with pytest.raises(TypeError, match="fill"):
            transform(torch.zeros(3, 9, 9, dtype=torch.uint8))
        assert "one number, not with a list" in refusal(v1.PILToTensor(), transform)
        assert "one number, not with a list" in refusal(v1.ToTensor(), transform)
    check(noise(9, 9, 3, 1), 1, v2.ToImage(), v2.Pad(2, fill))


def refusal(*transforms):
    with pytest.raises(native.Error, match="Unsupported: node") as error:
        compile_chain([("from_array", {"mode": "RGB"}), *chain_of(*transforms)])
    return str(error.value)


@needs_products
@pytest.mark.parametrize("api", [1, 2])
def test_what_the_operators_refuse(api):
    lib, first = APIS[api], v1.PILToTensor()
    for mode in (InterpolationMode.BICUBIC, InterpolationMode.NEAREST_EXACT):
        for transform in (
            lib.RandAugment(interpolation=mode),
            lib.TrivialAugmentWide(interpolation=mode),
            lib.AutoAugment(interpolation=mode),
            lib.AugMix(interpolation=mode),
            lib.RandomRotation(3, mode),
            lib.RandomAffine(3, interpolation=mode),
        ):
            assert "nearest or bilinear only" in refusal(first, transform)
    for transform in (
        lib.RandAugment(),
        lib.ColorJitter(0.1),
        lib.Grayscale(),
        lib.RandomGrayscale(),
        lib.RandomRotation(3),
        lib.Pad(1, padding_mode="edge"),
        lib.RandomCrop(3, 1, padding_mode="edge"),
    ):
        assert "tensors of uint8 only" in refusal(v1.ToTensor(), transform)
    for fill in (256, 255.5, -0.5):
        assert "not a value" in refusal(first, lib.RandomRotation(3, fill=fill))
        assert "not a value" in refusal(first, lib.RandAugment(fill=fill))


@pytest.mark.parametrize("api", [1, 2])
def test_products_of_matrices_that_are_not_known(api, monkeypatch):
    """Tensors are refused, PIL images are not."""
    monkeypatch.setattr(augment, "products_are_known", lambda: False)
    lib, first = APIS[api], v1.PILToTensor()
    for transform in (lib.RandAugment(), lib.TrivialAugmentWide(), lib.AutoAugment()):
        assert "matrices of rotations are not known" in refusal(first, transform)
    for transform in (lib.RandomRotation(3), lib.RandomAffine(3)):
        assert "multiplies matrices" in refusal(first, transform)
    check(noise(20, 20, 3, 1), 1, lib.RandAugment(), lib.RandomRotation(3), first)


@pytest.mark.parametrize("capability", ["DEFAULT", "ZVECTOR"])
@pytest.mark.parametrize("api", [1, 2])
def test_other_builds_of_torch(api, capability):
    lib = APIS[api]
    other = {**LIBRARIES, "cpu_capability": capability}
    source = ("from_array", {"mode": "RGB"})
    for transform in (
        lib.RandAugment(),
        lib.ColorJitter(0.1),
        lib.Grayscale(),
        lib.RandomGrayscale(),
        lib.RandomRotation(3),
    ):
        nodes = [source, *chain_of(v1.PILToTensor(), transform)]
        with pytest.raises(native.Error, match="has other bits for tensors"):
            native.Chain(nodes, other, b"")
