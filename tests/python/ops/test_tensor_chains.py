"""Chains of several operators on uint8 tensors equal torchvision's bit for bit; what the operators can't
do on tensors is refused with its reason."""

import pytest
import torch
from headrace.native import augment
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.image_strategies import APIS, apis, images, seeds
from support.operators import LIBRARIES, check_file, check_image, jpeg, native, noise
from support.tensor_chains import chain_of, check, refusal
from support.torch_bits import multiply_matrices, needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode

pytestmark = needs_vectors


def of_bytes(lib):
    """Transforms that compute with uint8, of one of torchvision's two interfaces."""
    return [
        lib.RandAugment(),
        lib.ColorJitter(0.1),
        lib.Grayscale(),
        lib.RandomGrayscale(),
        lib.RandomRotation(3),
    ]


@needs_products
@examples(150)
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
    for transform in (lib.RandAugment(), lib.TrivialAugmentWide(), lib.AutoAugment()):
        assert "tensors of uint8 only" in refusal(v1.ToTensor(), transform)
    half = v1.ConvertImageDtype(torch.float16)
    for transform in (
        lib.ColorJitter(0.1),
        lib.Grayscale(),
        lib.RandomGrayscale(),
        lib.RandomRotation(3),
        lib.Pad(1, padding_mode="edge"),
        lib.RandomCrop(3, 1, padding_mode="edge"),
    ):
        assert "uint8 or float32 only" in refusal(v1.PILToTensor(), half, transform)
    for fill in (256, 255.5, -0.5):
        assert "not a value" in refusal(first, lib.RandomRotation(3, fill=fill))
        assert "not a value" in refusal(first, lib.RandAugment(fill=fill))


@pytest.mark.parametrize("api", [1, 2])
def test_products_of_matrices_that_are_not_known(api, monkeypatch):
    """Tensors are refused, PIL images are not."""
    monkeypatch.setattr(augment, "matrix_products", lambda: augment.UNKNOWN)
    lib, first = APIS[api], v1.PILToTensor()
    for transform in (lib.RandAugment(), lib.TrivialAugmentWide(), lib.AutoAugment()):
        assert "matrices of rotations are not known" in refusal(first, transform)
    for transform in (lib.RandomRotation(3), lib.RandomAffine(3)):
        assert "multiplies matrices" in refusal(first, transform)
    check(noise(20, 20, 3, 1), 1, lib.RandAugment(), lib.RandomRotation(3), first)


@pytest.mark.parametrize("form", [augment.FUSED_WHERE_LARGE, augment.NEVER_FUSED])
@pytest.mark.parametrize("api", [1, 2])
def test_both_ways_to_multiply_matrices(api, form, monkeypatch):
    """The test also covers the way that this CPU does not have."""
    multiply_matrices(monkeypatch, form)
    assert augment.matrix_products() == form
    lib, first, mode = APIS[api], v1.PILToTensor(), InterpolationMode.BILINEAR
    pictures = [noise(224, 171, 3, 3), noise(8, 8, 3, 3)]
    for transform in (
        lib.RandomRotation(180, mode),
        lib.RandomAffine(180, (0.3, 0.3), (0.5, 2), 30, mode),
        lib.TrivialAugmentWide(interpolation=mode),
        lib.RandAugment(4, interpolation=mode),
        lib.AutoAugment(interpolation=mode),
        lib.AugMix(interpolation=mode),
    ):
        nodes, whole = chain_of(first, transform), v1.Compose([first, transform])
        for seed in range(60):
            check_image(nodes, whole, pictures[seed % 3 == 2], seed)


def test_another_way_to_multiply_matrices_is_not_known(monkeypatch):
    multiply_matrices(monkeypatch, augment.NEVER_FUSED + 1)
    assert augment.matrix_products() == augment.UNKNOWN


@pytest.mark.parametrize("capability", ["DEFAULT", "ZVECTOR"])
@pytest.mark.parametrize("api", [1, 2])
def test_other_builds_of_torch(api, capability):
    lib = APIS[api]
    other = {**LIBRARIES, "cpu_capability": capability}
    source = ("from_array", {"mode": "RGB"})
    for transform in of_bytes(lib):
        nodes = [source, *chain_of(v1.PILToTensor(), transform)]
        with pytest.raises(native.Error, match="has other bits for tensors"):
            native.Chain(nodes, other, b"")
