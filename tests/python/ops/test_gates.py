"""The gates "random_apply", "random_order" and "random_choice" against torchvision: pixels and draws."""

import pytest
from headrace.native.plan import NotNative
from headrace.native.transforms import nodes_of
from hypothesis import given
from hypothesis import strategies as st
from support.image_strategies import images
from support.operators import SEEDS, check_image
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
