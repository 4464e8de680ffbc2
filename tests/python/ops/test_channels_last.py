"""The memory of tensors that torchvision leaves with their channels last."""

import numpy as np
import pytest
import torch
from PIL import Image
from support.operators import assert_same_bits, compile_chain
from torchvision.transforms import v2

SEED = 20261125
NORMALIZE = ("normalize", {"mean": [0.1, 0.2, 0.3], "std": [0.5, 0.25, 0.4]})


FLOATS = ["float16", "float32", "float64"]
CASES = [(dtype, True) for dtype in FLOATS] + [
    (dtype, False) for dtype in ["uint8", "int32", *FLOATS]
]


@pytest.mark.parametrize(("dtype", "normalized"), CASES)
def test_channels_last(dtype, normalized):
    rng = np.random.default_rng(SEED)
    steps = [v2.ToImage(), v2.ToDtype(getattr(torch, dtype), scale=True)]
    nodes = [
        ("from_array", {"mode": "RGB"}),
        ("to_image", {}),
        ("to_dtype", {"dtype": dtype, "scale": 1, "api": 2}),
    ]
    if normalized:
        steps.append(v2.Normalize([0.1, 0.2, 0.3], [0.5, 0.25, 0.4]))
        nodes.append(NORMALIZE)
    chain = compile_chain([*nodes, ("channels_last", {})])
    for _ in range(20):
        height, width = (int(v) for v in rng.integers(2, 60, 2))
        picture = rng.integers(0, 256, (height, width, 3), np.uint8)
        tensor = v2.Compose(steps)(Image.fromarray(picture))
        assert tensor.stride() == (1, 3 * width, 3)
        memory = torch.as_tensor(tensor).permute(1, 2, 0)
        assert memory.is_contiguous()
        if dtype == "float16":
            memory = memory.view(torch.uint16)
        assert_same_bits(chain.run(picture, 0, 0)[0], memory.numpy())
