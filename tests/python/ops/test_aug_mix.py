"""AugMix equals torchvision's bit for bit, by way of capture: it computes on tensors and draws
gamma-distributed numbers, which no other transform does."""

import numpy as np
import pytest
import torch
from headrace.capture import NotNative
from headrace.native import augment
from headrace.native.transforms import nodes_of
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples, share
from support.image_strategies import APIS, apis, fills, images, seeds
from support.operators import (
    as_array,
    assert_same_bits,
    check_file,
    check_image,
    compile_chain,
    jpeg,
    native,
    noise,
)
from support.torch_bits import needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = [needs_vectors, needs_products]

MODES = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR]

modes = st.sampled_from(MODES)


def node_for(transform):
    node = nodes_of(v1.Compose([transform, v1.PILToTensor()]))[0]
    assert node.op == "aug_mix" and node.purity == "random"
    return node.op, node.args


def check(transform, image, seed):
    check_image([node_for(transform)], transform, image, seed)


@examples(500)
@given(
    data=st.data(),
    image=images(most=120),
    api=apis,
    severity=st.integers(1, 10),
    width=st.integers(1, 5),
    depth=st.integers(-1, 4),
    alpha=st.sampled_from([1.0, 0.3, 2.5]),
    all_ops=st.booleans(),
    mode=modes,
    seed=seeds,
)
def test_aug_mix(data, image, api, severity, width, depth, alpha, all_ops, mode, seed):
    fill = data.draw(fills(image))
    check(
        APIS[api].AugMix(severity, width, depth, alpha, all_ops, mode, fill),
        image,
        seed,
    )


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fill", [None, (13.4,)])
def test_every_operation_and_magnitude(api, mode, fill):
    """One operation each, of 118: 1000 seeds miss few. The weights hide none, since the operation
    counts for almost all of the image."""
    transform = APIS[api].AugMix(10, 1, 1, interpolation=mode, fill=fill)
    pictures = [noise(37, 53, 3, 1), noise(40, 40, 1, 2), noise(3, 90, 3, 3), noise(6, 7, 3, 4)]
    node = node_for(transform)
    for seed in range(share(1000)):
        check_image([node], transform, pictures[seed % 4], seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("size", [(224, 224), (500, 375), (1024, 512)])
def test_images_of_training_sizes(api, size, one_thread):
    """Sums of more than 2^24: their rounding depends on torch's vectors."""
    for channels in (1, 3):
        image = noise(*size, channels, 7)
        bright = image.point(lambda v: 200 + v // 5)
        for seed in range(6):
            check(APIS[api].AugMix(), image, seed)
            # Contrast alone: other operations take the brightness away.
            transform = APIS[api].AugMix(10, 2, 1)
            check(transform, bright, seed)


@pytest.mark.parametrize("api", [1, 2])
def test_samples_of_a_lane_share_a_pair_of_normal_numbers(api):
    transform = APIS[api].AugMix()
    chain = compile_chain([("from_array", {"mode": "RGB"}), node_for(transform)])
    torch.manual_seed(4)
    position = kept = 0
    for number in range(200):
        image = noise(9, 11, 3, number)
        want = as_array(transform(image))
        got, _ = chain.run(np.ascontiguousarray(np.asarray(image)), 4, position)
        assert_same_bits(got, want)
        assert chain.generator().state() == torch.get_rng_state().numpy().tobytes(), number
        position = chain.generator().position()
        kept += position != chain.generator().draws()
    assert 20 < kept < 180


@given(st.integers(1, 200), st.integers(1, 200), apis, seeds)
def test_files(height, width, api, seed):
    data = jpeg(noise(height, width, 3, seed % 999))
    transform = APIS[api].AugMix()
    flip = v1.RandomHorizontalFlip()
    after = ("random_horizontal_flip", {})
    check_file([node_for(transform), after], v1.Compose([transform, flip]), data, seed)


TENSORS = {
    "pil_to_tensor": ("pil_to_tensor", {}, v1.PILToTensor()),
    "to_image": ("to_image", {}, v2.ToImage()),
}


@examples(200)
@given(st.data(), images(4, 120), apis, modes, st.sampled_from(list(TENSORS)), seeds)
def test_tensors(data, image, api, mode, conversion, seed):
    fill = data.draw(fills(image))
    if api == 1 and type(fill) is tuple:
        fill = list(fill)
    op, args, first = TENSORS[conversion]
    transform = APIS[api].AugMix(interpolation=mode, fill=fill)
    flip, crop = v2.RandomVerticalFlip(), v2.RandomCrop(4)
    nodes = [
        (op, args),
        ("random_vertical_flip", {}),
        node_for(transform),
        ("random_crop", {"size": 4, "api": 2}),
    ]
    check_image(nodes, v1.Compose([first, flip, transform, crop]), image, seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("side", [27, 54, 297, 1350, 4095, 4096])
def test_translations_that_are_whole_in_exact_arithmetic(api, side):
    transform = APIS[api].AugMix(10, 1, 4)
    node = node_for(transform)
    for seed in range(30):
        check_image([node], transform, noise(2, side, 1, side), seed)
        check_image([node], transform, noise(side, 2, 1, side), seed)


def test_pixels_of_every_side():
    for bin in range(10):
        given = augment._translate_exceptions(bin, 10, augment._MIX) or []
        exceptions = {side: pixels for _, side, pixels in zip(*[iter(given)] * 3, strict=True)}
        for side in range(1, 4097):
            pixels = int(torch.linspace(0.0, side / 3.0, 10)[bin].item())
            assert exceptions.get(side, side * bin // 27) == pixels, (bin, side)


class Mine(v1.AugMix):
    pass


def test_what_is_not_native_says_why(monkeypatch):
    def altered(transform, **values):
        for name, value in values.items():
            setattr(transform, name, value)
        return transform

    cases = [
        (Mine(), "Mine has no native form"),
        (v1.AugMix(mixture_width=2.0), "mixture_width=2.0"),
        (v1.AugMix(chain_depth=None), "chain_depth=None"),
        (v1.AugMix(severity=1.5), "severity=1.5"),
        (v1.AugMix(alpha=1), "alpha=1 "),
        (altered(v1.AugMix(), _PARAMETER_MAX=9), "alpha=1.0"),
        (altered(v1.AugMix(), _sample_dirichlet=lambda p: p), "_sample_dirichlet was replaced"),
        (altered(v2.AugMix(), _AUGMENTATION_SPACE={}), "its augmentation space"),
        (v2.AugMix(fill={torch.Tensor: 1}), "fill="),
    ]
    for transform, reason in cases:
        with pytest.raises(NotNative, match=reason):
            nodes_of(v1.Compose([transform, v1.ToTensor()]))
    monkeypatch.setattr(augment, "matrix_products", lambda: augment.UNKNOWN)
    with pytest.raises(NotNative, match="multiplies matrices"):
        nodes_of(v1.Compose([v1.AugMix(), v1.ToTensor()]))


@pytest.mark.parametrize("api", [1, 2])
def test_what_the_operator_refuses(api):
    def refused(reason, *first, **arguments):
        node = node_for(APIS[api].AugMix(**arguments))
        with pytest.raises(native.Error, match="Unsupported: node") as error:
            compile_chain([("from_array", {"mode": "RGB"}), *first, node])
        assert reason in str(error.value)

    refused("PIL images and tensors of uint8 only", ("to_tensor", {}))
    refused("nearest or bilinear only", interpolation=InterpolationMode.BICUBIC)
    refused("fill has 2 values", fill=[1, 2])
    refused("fill is not a value of the image", fill=256)
    refused("mixture_width 17", mixture_width=17)
    refused("alpha is not above 0", alpha=0.0)
