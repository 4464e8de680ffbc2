"""Transforms that make a size that is drawn equal torchvision's, bit for bit and draw for draw."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.image_strategies import images, seeds
from support.operators import check_image, compile_chain, native
from torchvision.transforms import v2

lengths = st.integers(1, 70)
modes = st.sampled_from(["nearest", "bilinear", "bicubic", "box", "hamming", "lanczos"])
CROP = 7  # an array of the tests has one size


def check(node, transform, image, seed):
    """Or torchvision raises, and the operator refuses the size."""
    both = v2.Compose([transform, v2.CenterCrop(CROP)])
    nodes = [node, ("center_crop", {"size": CROP})]
    try:
        check_image(nodes, both, image, seed)
    except ValueError as error:
        assert "must be > 0" in str(error)
        with pytest.raises(native.Error, match="must be > 0"):
            compile_chain([("from_array", {"mode": image.mode}), *nodes]).run(
                np.ascontiguousarray(np.asarray(image)), seed
            )


@examples(300)
@given(images(), st.lists(lengths, min_size=1, max_size=5), st.none() | lengths, modes, seeds)
def test_random_shortest_size(image, shortest, longest, mode, seed):
    args = {"min_size": shortest, "interpolation": mode, "api": 2}
    if longest is not None:
        args["max_size"] = longest
    transform = v2.RandomShortestSize(shortest, longest, interpolation=mode)
    check(("random_shortest_size", args), transform, image, seed)


@examples(300)
@given(
    images(),
    st.tuples(lengths, lengths),
    st.tuples(st.floats(0.05, 2), st.floats(0, 1.5)),
    modes,
    seeds,
)
def test_scale_jitter(image, target, scale, mode, seed):
    scales = (scale[0], scale[0] + scale[1])
    args = {"target_size": list(target), "scale_range": list(scales), "interpolation": mode}
    transform = v2.ScaleJitter(target, scales, interpolation=mode)
    check(("scale_jitter", {**args, "api": 2}), transform, image, seed)


@examples(300)
@given(
    images(),
    st.tuples(st.floats(1, 3), st.floats(0, 2)),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 255),
    seeds,
)
def test_random_zoom_out(image, sides, p, fill, seed):
    sides = (sides[0], sides[0] + sides[1])
    args = {"p": p, "side_range": list(sides), "fill": fill}
    transform = v2.RandomZoomOut(fill=fill, side_range=sides, p=p)
    check(("random_zoom_out", args), transform, image, seed)
