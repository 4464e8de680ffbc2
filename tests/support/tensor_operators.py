"""Operators on tensors against torchvision's transforms, by way of capture: what is drawn, and compared."""

import pytest
import torch
from headrace.native.transforms import nodes_of
from hypothesis import strategies as st
from torchvision import transforms as v1
from torchvision.transforms import v2

from support.operators import LIBRARIES, check_image, native, noise

# How programs make float32, as tensors of both orders in memory.
CONVERSIONS = {
    "ToTensor": lambda: [v1.ToTensor()],
    "ToImage, ToDtype": lambda: [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    "ToDtype without scale": lambda: [v2.PILToTensor(), v2.ToDtype(torch.float32)],
    "ConvertImageDtype": lambda: [v1.PILToTensor(), v1.ConvertImageDtype(torch.float32)],
    # Elements below 0 and above 1, and -0.
    "Normalize": lambda: [v1.ToTensor(), v1.Normalize([0.4], [0.3])],
    "zeros with a sign": lambda: [v1.ToTensor(), v1.Normalize([0.0], [-0.5])],
    "padded": lambda: [v1.ToTensor(), v1.Pad(2, fill=-0.0)],
}


@st.composite
def images(draw, least=1, most=120):
    side = st.integers(least, most)
    return noise(draw(side), draw(side), draw(st.sampled_from([1, 3])), draw(st.integers(0, 999)))


@st.composite
def sizes(draw, most=90):
    return [draw(st.integers(1, most)), draw(st.integers(2, most))]


def nodes_for(*transforms):
    return [(node.op, node.args) for node in nodes_of(v1.Compose(list(transforms)))]


def check(transforms, image, seed=0):
    check_image(nodes_for(*transforms), v1.Compose(list(transforms)), image, seed)


def refusal(*transforms, mode="RGB", **libraries):
    with pytest.raises(native.Error, match="Unsupported: node") as error:
        nodes = [("from_array", {"mode": mode}), *nodes_for(*transforms)]
        native.Chain(nodes, {**LIBRARIES, **libraries}, b"")
    return str(error.value)
