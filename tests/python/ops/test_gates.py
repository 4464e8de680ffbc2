"""The gates "random_apply", "random_order" and "random_choice" against torchvision: pixels and draws."""

import pytest
import torch
from headrace.native.plan import NotNative
from headrace.native.transforms import nodes_of
from hypothesis import given
from hypothesis import strategies as st
from support.image_strategies import images
from support.operators import SEEDS, check_image, compile_chain, native
from support.torch_bits import needs_vectors
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

JITTER = (0.4, 0.4, 0.2, 0.1)
APIS = {"v1": v1, "v2": v2}


def simclr(api, p):
    blur = api.RandomSolarize(100, 0.5)
    return [
        api.RandomApply([api.ColorJitter(*JITTER), api.RandomGrayscale(0.5)], p=p),
        api.RandomApply(
            nn.ModuleList([blur, api.RandomApply([api.RandomInvert(0.7)], 0.6)]), p=0.5
        ),
        api.RandomHorizontalFlip(),
        api.PILToTensor(),
    ]


def chain(steps):
    transform = v1.Compose(steps)
    return transform, [(node.op, node.args) for node in nodes_of(transform)]


@given(images(), st.integers(0, SEEDS), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
@pytest.mark.parametrize("api", APIS)
def test_random_apply(api, image, seed, p):
    transform, nodes = chain(simclr(APIS[api], p))
    assert [op for op, _ in nodes].count("random_apply") == 3
    check_image(nodes, transform, image, seed)


@given(images(), st.integers(0, SEEDS))
def test_random_order(image, seed):
    steps = [
        v2.RandomOrder(
            [
                v2.ColorJitter(*JITTER),
                v2.Compose([v2.RandomSolarize(90), v2.RandomHorizontalFlip()]),
                v2.RandomApply([v2.RandomInvert(0.9)], 0.5),
            ]
        ),
        v2.RandomVerticalFlip(),
        v2.PILToTensor(),
    ]
    transform, nodes = chain(steps)
    assert nodes[0] == ("random_order", {"parts": [1, 2, 2]})
    check_image(nodes, transform, image, seed)


def python_parts():
    return [
        v1.ColorJitter(*JITTER),
        v1.Compose([v1.RandomSolarize(90), v1.RandomHorizontalFlip()]),
        v1.RandomApply([v1.RandomInvert(0.9)], 0.5),
    ]


@given(images(), st.integers(0, SEEDS))
def test_v1s_random_order(image, seed):
    steps = [v1.RandomOrder(python_parts()), v1.RandomVerticalFlip(), v1.PILToTensor()]
    transform, nodes = chain(steps)
    assert nodes[0] == ("random_order", {"parts": [1, 2, 2], "generator": "python"})
    check_image(nodes, transform, image, seed)


@given(
    images(),
    st.integers(0, SEEDS),
    st.none() | st.lists(st.floats(0, 9), min_size=3, max_size=3).filter(lambda p: sum(p) > 0),
)
def test_v1s_random_choice(image, seed, weights):
    choice = v1.RandomChoice(python_parts(), p=weights)
    transform, nodes = chain([choice, v1.RandomVerticalFlip(), v1.PILToTensor()])
    assert nodes[0][0] == "random_choice"
    check_image(nodes, transform, image, seed)


@pytest.mark.parametrize(
    "gate",
    [
        v2.RandomChoice([v2.RandomHorizontalFlip()]),  # torch.multinomial
        v1.RandomApply([lambda image: image]),
    ],
)
def test_what_other_generators_decide_stays_python(gate):
    with pytest.raises(NotNative):
        nodes_of(v1.Compose([gate, v1.ToTensor()]))


@given(images(), st.integers(0, SEEDS), st.sampled_from([0.0, 0.4, 1.0]))
@pytest.mark.parametrize("api", APIS)
@needs_vectors
@pytest.mark.usefixtures("one_thread")
def test_gates_of_float32(api, image, seed, p):
    """Maps stand before, between and after gates of which nothing may run."""
    of = APIS[api]
    steps = [
        v1.ToTensor(),
        v1.RandomErasing(0.5, value=0.3),
        of.RandomApply([of.ColorJitter(0.4, 0, 0.4), of.RandomHorizontalFlip()], p=p),
        v1.Normalize([0.4], [0.25]),
        of.RandomApply(
            nn.ModuleList([of.RandomSolarize(0.3), of.RandomApply([of.RandomInvert(0.7)], 0.6)]),
            p=p,
        ),
        v1.RandomVerticalFlip(),
        v1.Normalize([0.1], [3.0]),
        of.RandomGrayscale(p),
    ]
    transform, nodes = chain(steps)
    check_image(nodes, transform, image, seed)


@given(images(), st.integers(0, SEEDS), st.sampled_from([torch.float32, torch.float64]))
@needs_vectors
@pytest.mark.parametrize("api", APIS)
def test_random_order_of_float32(api, image, seed, dtype):
    of = APIS[api]
    order = of.RandomOrder(
        [
            of.ColorJitter(0.4, 0, 0.4),
            v1.Compose([of.RandomSolarize(0.4), of.RandomHorizontalFlip()]),
            of.RandomApply([of.RandomInvert(0.9)], 0.5),
        ]
    )
    steps = [
        v1.ToTensor(),
        v1.Normalize([0.4], [0.25]),
        order,
        v2.ToDtype(dtype),
        v1.Normalize([1], [2]),
    ]
    transform, nodes = chain(steps)
    check_image(nodes, transform, image, seed)


@given(images(), st.integers(0, SEEDS))
@needs_vectors
def test_random_choice_of_float32(image, seed):
    parts = [v1.RandomSolarize(0.4), v1.RandomHorizontalFlip(), v1.Compose([v1.RandomInvert(0.9)])]
    transform, nodes = chain([v1.ToTensor(), v1.RandomChoice(parts), v1.Normalize([1], [2])])
    check_image(nodes, transform, image, seed)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_gates_of_other_types_are_refused(dtype):
    steps = [v1.ToTensor(), v2.ToDtype(dtype), v1.RandomApply([v1.RandomHorizontalFlip()])]
    with pytest.raises(native.Error, match="of uint8 or float32"):
        compile_chain([("from_array", {"mode": "RGB"}), *chain(steps)[1]])


def test_maps_of_float32_may_not_be_drawn():
    steps = [v1.ToTensor(), v1.RandomApply([v1.Normalize([1], [2])])]
    with pytest.raises(native.Error, match="maps elements"):
        compile_chain([("from_array", {"mode": "RGB"}), *chain(steps)[1]])
