"""Chains of operators on uint8 tensors and tv_tensors.Image, compared with torchvision's."""

from typing import Any

import pytest
from headrace.native.transforms import nodes_of
from hypothesis import strategies as st
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

from support.operators import check_image, compile_chain, native

# Parts of what is native for tensors.
MODES = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR]

modes = st.sampled_from(MODES)
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


def chain_of(*transforms: Any) -> list[tuple[str, dict]]:
    return [(node.op, node.args) for node in nodes_of(v1.Compose(list(transforms)))]


def check(image: Image.Image, seed: int, *transforms: Any) -> bool:
    return check_image(chain_of(*transforms), v1.Compose(list(transforms)), image, seed)


def refusal(*transforms: Any) -> str:
    """The error of a chain that does not compile."""
    with pytest.raises(native.Error, match="Unsupported: node") as error:
        compile_chain([("from_array", {"mode": "RGB"}), *chain_of(*transforms)])
    return str(error.value)
