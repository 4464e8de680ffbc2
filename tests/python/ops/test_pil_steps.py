"""Operators that stand for single calls of PIL's equal them bit for bit, with an older Pillow too."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance, ImageOps
from support.extent import examples
from support.operators import SEEDS, check_image, compile_chain, native, noise

seeds = st.integers(0, SEEDS)
sides = st.integers(1, 70)
channels = st.sampled_from([1, 3])


@st.composite
def images(draw):
    return noise(draw(sides), draw(sides), draw(channels), draw(st.integers(0, 999)))


numbers = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-9]))
shifts = st.one_of(st.floats(-80, 80), st.sampled_from([0.0, 0.5, 1.0, -3.0, 1e5]))


@st.composite
def matrices(draw):
    """Of any kind, and those that libraries make: shears, translations, turns around the middle."""
    kind = draw(st.sampled_from(["any", "shear x", "shear y", "move x", "move y", "turn"]))
    if kind == "any":
        return [draw(n) for n in (numbers, numbers, shifts, numbers, numbers, shifts)]
    if kind == "turn":
        angle = draw(st.floats(-math.pi, math.pi))
        a, b = round(math.cos(angle), 15), round(math.sin(angle), 15)
        return [a, b, draw(shifts), -b, a, draw(shifts)]
    matrix = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    at = {"shear x": 1, "shear y": 3, "move x": 2, "move y": 5}[kind]
    matrix[at] = draw(shifts if kind.startswith("move") else numbers)
    return matrix


@examples(500)
@given(images(), matrices(), st.sampled_from([0, 2, 3]), st.booleans(), seeds)
def test_affine(image, matrix, resample, filled, seed):
    fill = [124, 116, 104][: len(image.getbands())] if filled else None
    color = None if fill is None else fill[0] if len(fill) == 1 else tuple(fill)
    args = {"matrix": matrix, "interpolation": ("nearest", "", "bilinear", "bicubic")[resample]}
    if fill is not None:
        args["fill"] = [float(v) for v in fill]

    def by_pil(picture):
        return picture.transform(
            picture.size, Image.Transform.AFFINE, matrix, resample, fillcolor=color
        )

    check_image([("affine", args)], by_pil, image, seed)


@given(images(), st.lists(st.integers(0, 255), min_size=768, max_size=768), st.booleans(), seeds)
def test_map_values(image, table, same, seed):
    bands = len(image.getbands())
    table = table[:256] * bands if same else table[: 256 * bands]
    args = {"table": table[:256] if same else table}
    check_image([("map_values", args)], lambda picture: picture.point(table), image, seed)


ENHANCE = {
    "brightness": ImageEnhance.Brightness,
    "color": ImageEnhance.Color,
    "contrast": ImageEnhance.Contrast,
    "sharpness": ImageEnhance.Sharpness,
}
factors = st.one_of(
    st.floats(-3, 3), st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-30, -0.0, 1e5])
)


@examples(300)
@given(images(), st.sampled_from(sorted(ENHANCE)), factors, seeds)
def test_enhancements(image, name, factor, seed):
    node = ("pil_operation", {"operation": name, "factor": factor})
    check_image([node], lambda picture: ENHANCE[name](picture).enhance(factor), image, seed)


@given(images(), st.sampled_from(["autocontrast", "equalize"]), seeds)
def test_histograms(image, name, seed):
    node = ("pil_operation", {"operation": name})
    check_image([node], getattr(ImageOps, name), image, seed)


def test_only_pictures():
    for node in (
        ("affine", {"matrix": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]}),
        ("map_values", {"table": list(range(256))}),
        ("pil_operation", {"operation": "equalize"}),
    ):
        with pytest.raises(native.Error, match="PIL images only"):
            compile_chain([("decode", {}), ("pil_to_tensor", {}), node])
