"""What the native operators do not do, they say: Unsupported is left to Python."""

import math

import numpy as np
import pytest
import torch
from support.operators import compile_chain, native

TO_TENSOR = ("to_tensor", {})
HALF = ("to_dtype", {"dtype": "float16"})


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        ([TO_TENSOR, ("resize", {"size": 8})], "float32 without antialias"),
        ([TO_TENSOR, ("random_resized_crop", {"size": 8})], "float32 without antialias"),
        ([TO_TENSOR, ("color_jitter", {"hue": 0.1})], "tensors of float32 to other bits"),
        ([TO_TENSOR, HALF, ("color_jitter", {"hue": 0.1})], "tensors of uint8 or float32 only"),
        (
            [TO_TENSOR, HALF, ("pad", {"padding": 2, "padding_mode": "edge"})],
            "tensors of uint8 or float32 only",
        ),
        ([("pad", {"padding": -2})], "negative padding"),
        ([("pad", {"padding": 2, "fill": 300})], "fill is not a value of the image"),
        ([("random_erasing", {})], "for tensors only"),
        ([("normalize", {"mean": [0.5], "std": [0.5]})], "for tensors only"),
        ([("pil_to_tensor", {}), ("to_dtype", {"dtype": "bool"})], "dtype bool"),
        (
            [
                ("pil_to_tensor", {}),
                ("to_dtype", {"dtype": "int16"}),
                ("to_dtype", {"dtype": "float32"}),
            ],
            "from an integer type other than uint8",
        ),
        ([TO_TENSOR, ("to_dtype", {"dtype": "uint8"})], "float to integer"),
        ([TO_TENSOR, ("normalize", {"mean": [0.5, 0.5], "std": [0.5]})], "mean has 2 values"),
        ([("swirl", {})], "no native operator swirl"),
    ],
)
def test_what_has_no_native_form_says_why(nodes, reason):
    with pytest.raises(native.Error, match="Unsupported: node") as refused:
        compile_chain([("from_array", {"mode": "RGB"}), *nodes])
    assert reason in str(refused.value)


@pytest.mark.parametrize("op", ["pad", "random_crop"])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric"])
@pytest.mark.parametrize("first", [[], [("pil_to_tensor", {})], [TO_TENSOR], [TO_TENSOR, HALF]])
def test_borders_made_of_the_image_are_native_for_bytes_and_float32(op, mode, first):
    args = {"padding": 2, "padding_mode": mode, **({"size": 8} if op == "random_crop" else {})}
    nodes = [("from_array", {"mode": "RGB"}), *first, (op, args)]
    if mode == "constant" or HALF not in first:
        compile_chain(nodes)
        return
    with pytest.raises(native.Error, match="tensors of uint8 or float32 only"):
        compile_chain(nodes)


def test_what_the_framework_refuses_is_an_invalid_argument():
    for nodes in (
        [TO_TENSOR, ("normalize", {"mean": [0.5], "std": [0.0]})],
        [("random_resized_crop", {"size": 8, "scale": [1.0, 0.5]})],
        [("resize", {"size": [1, 2, 3]})],
        [("color_jitter", {"brightness": -1.0})],
    ):
        with pytest.raises(native.Error, match="InvalidArgument"):
            compile_chain([("from_array", {"mode": "RGB"}), *nodes])


def test_log_ratio_may_come_from_torch():
    ratio = (0.3, 3.3)
    logs = torch.log(torch.tensor(ratio)).tolist()
    chain = compile_chain(
        [
            ("decode", {}),
            ("random_resized_crop", {"size": 4, "ratio": list(ratio), "log_ratio": logs}),
        ]
    )
    assert chain.exp_ranges()[0][:2] == tuple(np.float32(logs))
    assert math.isclose(logs[0], math.log(0.3), rel_tol=1e-6)
