"""Operators on tensors against torchvision's transforms, by way of capture: what is drawn, and compared."""

import pytest
from headrace.native.transforms import nodes_of
from hypothesis import strategies as st
from torchvision import transforms as v1

from support.operators import LIBRARIES, check_image, native, noise


@st.composite
def images(draw, least=1, most=120):
    side = st.integers(least, most)
    return noise(draw(side), draw(side), draw(st.sampled_from([1, 3])), draw(st.integers(0, 999)))


@st.composite
def sizes(draw, most=90):
    return [draw(st.integers(1, most)), draw(st.integers(2, most))]


def nodes_for(*transforms):
    return [(node.op, node.args) for node in nodes_of(v1.Compose(list(transforms)))]


def check(transforms, image, seed):
    check_image(nodes_for(*transforms), v1.Compose(list(transforms)), image, seed)


def refusal(*transforms, **libraries):
    with pytest.raises(native.Error, match="Unsupported: node") as error:
        nodes = [("from_array", {"mode": "RGB"}), *nodes_for(*transforms)]
        native.Chain(nodes, {**LIBRARIES, **libraries}, b"")
    return str(error.value)
