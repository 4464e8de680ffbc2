"""ElasticTransform equals torchvision's bit for bit, in v1 and v2, on PIL images and on tensors of uint8
and float32, with its draws: two numbers for each pixel, which a worker draws again."""

import numpy as np
import pytest
import torch
from headrace.native import blurring, float_bits
from headrace.native.transforms import node_of
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.image_strategies import APIS, apis, seeds
from support.operators import check_file, check_image, compile_chain, jpeg, native, noise
from support.tensor_chains import MODES, chain_of, modes, refusal
from support.torch_bits import needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = [
    needs_vectors,
    pytest.mark.skipif(
        not node_of(v1.ElasticTransform()).args["known_sums"],
        reason="torch convolves in an order that is not known here",
    ),
]
# What is given: a PIL image, and tensors of bytes and of floats, also below 0 and with a signed zero.
FIRSTS = {
    "PIL": lambda: [],
    "PILToTensor": lambda: [v1.PILToTensor()],
    "ToImage, moved": lambda: [v2.ToImage(), v2.RandomHorizontalFlip()],
    "ToTensor": lambda: [v1.ToTensor()],
    "ToImage, ToDtype": lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    "Normalize": lambda: [v1.ToTensor(), v1.Normalize([0.0], [-0.5])],
}
strengths = st.one_of(st.floats(-300, 300), st.sampled_from([50.0, 0.0, 1e6, -1e-30]))
sigmas = st.one_of(st.floats(0.5, 6), st.sampled_from([5.0, 4.0, 0.9, 3.1]))


def pairs(value):
    return st.one_of(value, st.lists(value, min_size=2, max_size=2))


@st.composite
def fills(draw, channels, least, most):
    value = st.one_of(st.floats(least, most, width=32), st.integers(0, int(most)))
    return draw(st.one_of(value, st.lists(value, min_size=channels, max_size=channels)))


@examples(80)
@given(st.data(), apis, st.sampled_from(list(FIRSTS)), pairs(strengths), pairs(sigmas), modes,
       st.integers(30, 90), st.integers(30, 90), st.sampled_from([1, 3]), seeds)  # fmt: skip
def test_elastic_transform(data, api, first, alpha, sigma, mode, height, width, channels, seed):
    before = FIRSTS[first]()
    of_floats = first in ("ToTensor", "ToImage, ToDtype", "Normalize")
    bounds = (-2, 2) if of_floats else (0, 255)
    fill = data.draw(fills(channels, *bounds))
    transform = APIS[api].ElasticTransform(alpha, sigma, mode, fill)
    nodes = chain_of(*before, transform) if before else pil_chain(transform)
    assert nodes[-1][0] == "elastic_transform"
    image = noise(height, width, channels, seed)
    check_image(nodes, v1.Compose([*before, transform]), image, seed)


def pil_chain(*transforms):
    return [(node.op, node.args) for node in map(node_of, transforms)]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("mode", MODES)
def test_sizes_of_programs(api, mode):
    transform = APIS[api].ElasticTransform(interpolation=mode)
    check_image(pil_chain(transform), transform, noise(375, 500, 3, 5), 7)
    for shape in ((224, 224), (41, 300)):
        steps = [v1.ToTensor(), transform]
        check_image(chain_of(*steps), v1.Compose(steps), noise(*shape, 3, 5), 7)


@pytest.mark.parametrize("api", APIS)
def test_without_a_blur(api):
    for sigma in (0.0, [0.0, 0.0]):
        transform = APIS[api].ElasticTransform(300.0, sigma)
        for shape in ((1, 1), (1, 9), (12, 1), (30, 17)):
            for channels in (1, 3):
                check_image(pil_chain(transform), transform, noise(*shape, channels, 3), 2)


@pytest.mark.parametrize("api", APIS)
def test_in_a_pipeline_from_a_file(api):
    """What follows goes on with the generator after the draws of all pixels."""
    lib = APIS[api]
    steps = [
        lib.RandomResizedCrop(64),
        lib.RandomHorizontalFlip(),
        lib.RandomApply([lib.ElasticTransform(90.0, 3.0)], p=0.5),
        lib.RandomCrop(48, padding=4),
        lib.ElasticTransform(30.0, 2.0, fill=(1, 2, 3)),
        lib.ColorJitter(0.4, 0.4),
        lib.PILToTensor(),
    ]
    data = jpeg(noise(120, 170, 3, 5))
    for seed in range(30):
        check_file(chain_of(*steps), v1.Compose(steps), data, seed)


def test_the_state_is_that_of_any_place_in_the_stream():
    """Also at the borders of its 624 words."""
    image = noise(13, 24, 3, 1)  # 624 draws
    moved = v1.ElasticTransform(70.0, 0.0)
    for whole, more in ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (0, 15)):
        steps = [moved] * whole + [v1.RandomHorizontalFlip()] * more + [moved]
        check_image(pil_chain(*steps), v1.Compose(steps), image, whole + more)


@pytest.mark.parametrize(
    "transform, reason",
    [
        (
            lambda: v1.ElasticTransform(interpolation=InterpolationMode.BICUBIC),
            "nearest or bilinear",
        ),
        (lambda: v2.ElasticTransform(fill=300), "not a value of the image"),
        (lambda: v2.ElasticTransform(1e7), "alpha is not a number"),
    ],
)
def test_what_has_no_native_form_says_so(transform, reason):
    assert reason in refusal(v1.PILToTensor(), transform())


def test_what_capture_does_not_take():
    for transform in (v1.ElasticTransform(sigma=[3.0, 0.0]), v2.ElasticTransform(sigma=40.0)):
        with pytest.raises(Exception, match="sigma="):
            node_of(transform)
    changed = v1.ElasticTransform()
    changed.alpha = [1, 2.0]
    with pytest.raises(Exception, match="alpha="):
        node_of(changed)


def test_images_smaller_than_half_of_the_kernel_are_the_trainers():
    chain = compile_chain([("from_array", {"mode": "RGB"}), *pil_chain(v1.ElasticTransform())])
    with pytest.raises(native.Error, match="Unsupported.*border of 20"):
        chain.run(np.asarray(noise(20, 30, 3, 1)), 1)
    small = pil_chain(v1.ElasticTransform(sigma=0.3))  # a kernel of 3: torch multiplies matrices
    chain = compile_chain([("from_array", {"mode": "RGB"}), *small])
    with pytest.raises(native.Error, match="Unsupported.*another order"):
        chain.run(np.asarray(noise(20, 30, 3, 1)), 1)


def test_a_torch_that_samples_to_other_bits_is_left_alone(monkeypatch):
    real = float_bits.checksums
    monkeypatch.setattr(float_bits, "checksums", lambda *way: (1, *real(*way)[1:]))
    assert "bits that are not known" in refusal(v1.PILToTensor(), v2.ElasticTransform())


def test_a_torch_that_blurs_in_another_order_is_left_alone(monkeypatch):
    monkeypatch.setattr(blurring, "blur_known", lambda *_: False)
    assert "bits that are not known" in refusal(v1.PILToTensor(), v1.ElasticTransform())
