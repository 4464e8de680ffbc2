"""The auto-augment policies on uint8 tensors and tv_tensors.Image, after PILToTensor or ToImage,
equal torchvision's bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples, share
from support.image_strategies import APIS, apis, fills, images, seeds
from support.operators import check_image, compile_chain, native, noise
from support.tensor_chains import MODES, chain_of, check, firsts, modes
from support.torch_bits import needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import AutoAugmentPolicy

pytestmark = needs_vectors


@needs_products
@examples(400)
@given(st.data(), images(), apis, firsts, st.integers(2, 40), modes, seeds)
def test_trivial_augment_wide(data, image, api, first, bins, mode, seed):
    fill = data.draw(fills(image))
    check(image, seed, *first, APIS[api].TrivialAugmentWide(bins, mode, fill))


@needs_products
@examples(400)
@given(st.data(), images(), apis, firsts, st.integers(0, 4), st.integers(2, 40), modes, seeds)
def test_rand_augment(data, image, api, first, count, bins, mode, seed):
    fill, magnitude = data.draw(fills(image)), data.draw(st.integers(0, bins - 1))
    check(image, seed, *first, APIS[api].RandAugment(count, magnitude, bins, mode, fill))


@needs_products
@examples(400)
@given(st.data(), images(), apis, firsts, st.sampled_from(AutoAugmentPolicy), modes, seeds)
def test_auto_augment(data, image, api, first, policy, mode, seed):
    check(image, seed, *first, APIS[api].AutoAugment(policy, mode, data.draw(fills(image))))


@needs_products
@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fill", [None, (7.5,)])
def test_every_operation_and_magnitude(api, mode, fill):
    """868 draws there are, a quarter turn among them; 1500 seeds miss few."""
    pictures = [noise(33, 47, 3, 1), noise(40, 40, 3, 2), noise(40, 40, 1, 3), noise(3, 60, 3, 4)]
    transforms = v1.PILToTensor(), APIS[api].TrivialAugmentWide(interpolation=mode, fill=fill)
    nodes, transform = chain_of(*transforms), v1.Compose(transforms)
    for seed in range(share(1500)):
        check_image(nodes, transform, pictures[seed % 4], seed)


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
