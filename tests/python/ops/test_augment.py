"""The auto-augment transforms equal torchvision's bit for bit, by way of capture: it takes their
magnitudes from torch."""

import pytest
import torch
from headrace.capture import NotNative
from headrace.native.augment import _translate_exceptions
from headrace.native.transforms import nodes_of
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples, share
from support.image_strategies import APIS, apis, fills, images, seeds
from support.operators import check_file, check_image, compile_chain, jpeg, native, noise
from torchvision import transforms as v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode, v2

MODES = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
OPERATORS = {
    "TrivialAugmentWide": "trivial_augment_wide",
    "RandAugment": "rand_augment",
    "AutoAugment": "auto_augment",
}

modes = st.sampled_from([*MODES, InterpolationMode.NEAREST_EXACT])


def node_for(transform):
    tensor = v1.Compose([transform, v1.PILToTensor()])
    node = nodes_of(tensor)[0]
    assert node.op == OPERATORS[type(transform).__name__] and node.purity == "random"
    return node.op, node.args


def check(transform, image, seed):
    check_image([node_for(transform)], transform, image, seed)


@examples(600)
@given(st.data(), images(), apis, st.integers(2, 40), modes, seeds)
def test_trivial_augment_wide(data, image, api, bins, mode, seed):
    fill = data.draw(fills(image))
    check(APIS[api].TrivialAugmentWide(bins, mode, fill), image, seed)


@examples(600)
@given(st.data(), images(), apis, st.integers(0, 4), st.integers(2, 40), modes, seeds)
def test_rand_augment(data, image, api, count, bins, mode, seed):
    fill = data.draw(fills(image))
    magnitude = data.draw(st.integers(0, bins - 1))
    check(APIS[api].RandAugment(count, magnitude, bins, mode, fill), image, seed)


@examples(600)
@given(st.data(), images(), apis, st.sampled_from(AutoAugmentPolicy), modes, seeds)
def test_auto_augment(data, image, api, policy, mode, seed):
    fill = data.draw(fills(image))
    check(APIS[api].AutoAugment(policy, mode, fill), image, seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_operation_and_magnitude(api, mode, channels):
    """868 draws there are; 1500 seeds miss few."""
    pictures = [noise(33, 47, channels, 1), noise(40, 40, channels, 2), noise(3, 60, channels, 3)]
    transform = APIS[api].TrivialAugmentWide(interpolation=mode, fill=(7,))
    for seed in range(share(1500)):
        check(transform, pictures[seed % 3], seed)


WITHOUT_MAGNITUDE = {"AutoContrast", "Equalize", "Invert"}


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("op", list(v2.AutoAugment._AUGMENTATION_SPACE))
def test_every_operation_of_a_policy(api, op):
    transform = APIS[api].AutoAugment(fill=9)
    bins = [None] if op in WITHOUT_MAGNITUDE else range(10)
    policies = [((op, 1.0, bin), (op, 0.5, bin)) for bin in bins]
    setattr(transform, "policies" if api == 1 else "_policies", policies)
    for seed in range(60):
        check(transform, noise(29, 43, 3, seed), seed)


@given(st.integers(1, 200), st.integers(1, 200), apis, st.sampled_from(list(OPERATORS)), seeds)
def test_files(height, width, api, name, seed):
    data = jpeg(noise(height, width, 3, seed % 999))
    transform = getattr(APIS[api], name)(interpolation=InterpolationMode.BILINEAR)
    node = node_for(transform)
    flip = v1.RandomHorizontalFlip()
    after = ("random_horizontal_flip", {})
    check_file([node, after], v1.Compose([transform, flip]), data, seed)


@pytest.mark.parametrize("size", [(1, 40_000), (40_000, 1), (2, 33_000)])
@pytest.mark.parametrize("mode", MODES)
def test_images_that_do_not_fit_fixed_point(size, mode):
    image = noise(*size, 3, 5)
    for seed in range(40):
        check(v1.TrivialAugmentWide(interpolation=mode), image, seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("side", [331, 662, 993, 1324, 3310])
def test_translations_that_are_whole_in_exact_arithmetic(api, side):
    """150 / 331 of these sides is a whole number: float32 must not fall below it."""
    for magnitude in (9, 14, 30):
        transform = APIS[api].RandAugment(2, magnitude)
        for seed in range(12):
            check(transform, noise(3, side, 1, side), seed)
            check(transform, noise(side, 3, 1, side), seed)


@pytest.mark.parametrize("api", [1, 2])
def test_translations_that_float32_rounds_up(api):
    transform = APIS[api].RandAugment(3, 9, 12)
    sides = node_for(transform)[1]["translate_exceptions"][1::3]
    assert 9739 in sides  # 3611 pixels, in exact arithmetic 3610.9997
    for seed in range(20):
        check(transform, noise(2, 9739, 1, seed), seed)
        check(transform, noise(9739, 2, 1, seed), seed)


@pytest.mark.parametrize(
    ("magnitude", "bins"),
    [(9, 31), (14, 31), (30, 31), (1, 2), (3, 10), (8, 10), (9, 10), (9, 12), (9, 14), (499, 1000)],
)
def test_pixels_of_every_side(magnitude, bins):
    given = _translate_exceptions(magnitude, bins) or []
    exceptions = {side: pixels for _, side, pixels in zip(*[iter(given)] * 3, strict=True)}
    for side in [*range(1, 5000), *range(5000, 32769, 7), 32768]:
        end = 150.0 / 331.0 * side
        pixels = int(torch.linspace(0.0, end, bins)[magnitude].item())
        exact = 150 * side * magnitude // (331 * (bins - 1))
        assert exceptions.get(side, exact) == pixels, side


class Mine(v1.TrivialAugmentWide):
    pass


def test_what_is_not_native_says_why():
    def altered(transform, **values):
        for name, value in values.items():
            setattr(transform, name, value)
        return transform

    cases = [
        (Mine(), "Mine has no native form"),
        (v1.TrivialAugmentWide(1), "num_magnitude_bins=1"),
        (v1.RandAugment(num_magnitude_bins=1001), "num_magnitude_bins=1001"),
        (v1.RandAugment(magnitude=-1), "magnitude=-1"),
        (v2.RandAugment(magnitude=31), "magnitude=31"),
        (v1.RandAugment(num_ops=2.5), "num_ops=2.5"),
        (v1.RandAugment(interpolation="bilinear"), "interpolation='bilinear'"),
        (v2.RandAugment(fill={torch.Tensor: 1}), "fill="),
        (v1.RandAugment(fill="red"), "fill='red'"),
        (altered(v1.AutoAugment(), policies=[(("Equalize", 0.5, None),)]), "not pairs"),
        (altered(v1.AutoAugment(), policies=[(("Equalize", 0.5, 3),) * 2]), "the policy"),
        (altered(v2.AutoAugment(), _policies=[(("Rotate", 0.5, None),) * 2]), "the policy"),
        (altered(v2.AutoAugment(), _AUGMENTATION_SPACE={}), "its augmentation space"),
    ]
    for transform, reason in cases:
        with pytest.raises(NotNative, match=reason):
            nodes_of(v1.Compose([transform, v1.ToTensor()]))


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("name", OPERATORS)
def test_what_the_operators_refuse(api, name):
    def refused(reason, *first, **arguments):
        node = node_for(getattr(APIS[api], name)(**arguments))
        with pytest.raises(native.Error, match="Unsupported: node") as error:
            compile_chain([("from_array", {"mode": "RGB"}), *first, node])
        assert reason in str(error.value)

    refused("PIL images and tensors of uint8 only", ("to_tensor", {}))
    refused("nearest, bilinear or bicubic only", interpolation=InterpolationMode.LANCZOS)
    refused("fill has 2 values", fill=[1, 2])
    refused("fill is not a value of the image", fill=256)
