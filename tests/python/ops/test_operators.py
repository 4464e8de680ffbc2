"""Every operator equals torchvision's transform bit for bit, and draws as much from torch."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.operators import (
    SEEDS,
    check_file,
    check_image,
    compile_chain,
    jpeg,
    native,
    noise,
    png,
)
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

APIS = {1: v1, 2: v2}
MODES = [mode.value for mode in InterpolationMode]
TO_TENSOR = ("to_tensor", {})

seeds = st.integers(0, SEEDS)
apis = st.sampled_from([1, 2])
sides = st.integers(1, 90)
channels = st.sampled_from([1, 3])
probabilities = st.sampled_from([0.0, 0.1, 0.5, 1.0])


@st.composite
def images(draw, least=1, most=90):
    side = st.integers(least, most)
    return noise(draw(side), draw(side), draw(channels), draw(st.integers(0, 999)))


def sizes(least=1, most=60):
    side = st.integers(least, most)
    return st.one_of(side, st.tuples(side, side).map(list))


@given(images(), seeds)
def test_from_array_and_identity(image, seed):
    check_image([("identity", {})], torch.nn.Identity(), image, seed)


@given(sides, sides, seeds, st.sampled_from([jpeg, png]))
def test_decode(height, width, seed, encode):
    data = encode(noise(height, width, 3, seed % 999))
    check_file([("identity", {})], torch.nn.Identity(), data, seed)
    assert native.read_header(data, 1 << 20)[:2] == (height, width)
    assert native.read_header(data, 2)[:2] == (height, width)


@given(images(), st.tuples(*[st.integers(-40, 120)] * 2), st.tuples(sides, sides), seeds)
def test_crop(image, corner, size, seed):
    (top, left), (height, width) = corner, size
    node = ("crop", {"top": top, "left": left, "size": [height, width]})
    box = (left, top, left + width, top + height)
    check_image([node], lambda picture: picture.crop(box), image, seed)


@given(images(), st.sampled_from(["horizontal", "vertical"]), seeds)
def test_flip(image, axis, seed):
    method = {"horizontal": 0, "vertical": 1}[axis]
    check_image([("flip", {"axis": axis})], lambda picture: picture.transpose(method), image, seed)


@examples(300)
@given(
    images(),
    apis,
    sizes(),
    st.sampled_from(MODES),
    st.one_of(st.none(), st.integers(61, 100)),
    seeds,
)
def test_resize(image, api, size, mode, max_size, seed):
    if isinstance(size, list):
        max_size = None
    args = {"size": size, "interpolation": mode}
    if max_size is not None:
        args["max_size"] = max_size
    height, width = native_shape(image, size, max_size)
    if min(height, width) < 1:
        return  # PIL raises
    transform = APIS[api].Resize(size, InterpolationMode(mode), max_size)
    check_image([("resize", args)], transform, image, seed)


def native_shape(image, size, max_size):
    """torchvision's own rule, to leave out what it cannot make."""
    from torchvision.transforms.functional import _compute_resized_output_size

    size = [size] if isinstance(size, int) else size
    return _compute_resized_output_size((image.height, image.width), size, max_size)


@given(images(least=8), st.integers(8, 50), seeds)
def test_resize_by_the_longer_edge(image, longest, seed):
    if int(longest * min(image.size) / max(image.size)) < 1:
        return
    check_image([("resize", {"max_size": longest})], v2.Resize(None, max_size=longest), image, seed)


@given(images(), apis, sizes(most=120), seeds)
def test_center_crop(image, api, size, seed):
    check_image([("center_crop", {"size": size})], APIS[api].CenterCrop(size), image, seed)


@given(images(least=8), apis, sizes(most=8), st.integers(0, 4), seeds)
def test_five_crop(image, api, size, part, seed):
    crops, take = APIS[api].FiveCrop(size), v1.Lambda(lambda made: made[part])
    node = ("five_crop", {"size": size, "part": part})
    check_image([node], v1.Compose([crops, take]), image, seed)
    check_image([TO_TENSOR, node], v1.Compose([v1.ToTensor(), crops, take]), image, seed)


@given(images(least=8), apis, sizes(most=8), st.integers(0, 9), st.booleans(), seeds)
def test_ten_crop(image, api, size, part, vertical, seed):
    crops = APIS[api].TenCrop(size, vertical_flip=vertical)
    take = v1.Lambda(lambda made: made[part])
    nodes = [("five_crop", {"size": size, "part": part % 5})]
    if part >= 5:
        nodes.insert(0, ("flip", {"axis": "vertical" if vertical else "horizontal"}))
    check_image(nodes, v1.Compose([crops, take]), image, seed)
    check_image([TO_TENSOR, *nodes], v1.Compose([v1.ToTensor(), crops, take]), image, seed)


@given(images(), apis, sizes(most=120), seeds)
def test_center_crop_of_tensors(image, api, size, seed):
    transform = v1.Compose([v1.ToTensor(), APIS[api].CenterCrop(size)])
    check_image([TO_TENSOR, ("center_crop", {"size": size})], transform, image, seed)


ranges = st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)).map(sorted)
ratios = st.sampled_from([(3 / 4, 4 / 3), (0.3, 3.3), (0.9, 1.1), (1.0, 1.0), (2.0, 5.0)])


@examples(300)
@given(images(), apis, sizes(), ranges, ratios, st.sampled_from(MODES), seeds)
def test_random_resized_crop(image, api, size, scale, ratio, mode, seed):
    args = {"size": size, "scale": list(scale), "ratio": list(ratio), "interpolation": mode}
    transform = APIS[api].RandomResizedCrop(size, scale, ratio, InterpolationMode(mode))
    check_or_decline([("random_resized_crop", args)], transform, image, seed, "no pixels")


@given(images(least=1, most=8), seeds)
def test_random_resized_crop_falls_back_to_the_middle(image, seed):
    args = {"size": 5, "scale": [4.0, 5.0], "ratio": [0.75, 1.5]}
    transform = v1.RandomResizedCrop(5, (4.0, 5.0), (0.75, 1.5))
    check_image([("random_resized_crop", args)], transform, image, seed)


paddings = st.one_of(
    st.integers(0, 9),
    st.lists(st.integers(0, 9), min_size=2, max_size=2),
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
)
padding_modes = st.sampled_from(["constant", "edge", "reflect", "symmetric"])


def fills(image_channels):
    value = st.integers(0, 255)
    return st.one_of(value, st.lists(value, min_size=image_channels, max_size=image_channels))


@given(st.data(), images(), apis, paddings, padding_modes, seeds)
def test_pad(data, image, api, padding, mode, seed):
    fill = data.draw(fills(len(image.getbands())))
    args = {"padding": padding, "fill": fill, "padding_mode": mode}
    transform = APIS[api].Pad(padding, tuple(fill) if isinstance(fill, list) else fill, mode)
    check_or_decline([("pad", args)], transform, image, seed, "reflects a side")


def check_or_decline(nodes, transform, image, seed, reason):
    """Equal, or left to Python with the reason."""
    try:
        check_image(nodes, transform, image, seed)
    except native.Error as error:
        assert "Unsupported" in str(error) and reason in str(error)


@examples(300)
@given(
    st.data(),
    images(most=40),
    apis,
    sizes(most=40),
    st.one_of(st.none(), paddings),
    st.booleans(),
    padding_modes,
    seeds,
)
def test_random_crop(data, image, api, size, padding, pad_if_needed, mode, seed):
    fill = data.draw(fills(len(image.getbands())))
    args = {"size": size, "pad_if_needed": pad_if_needed, "fill": fill, "padding_mode": mode}
    if padding is not None:
        args["padding"] = padding
    transform = APIS[api].RandomCrop(
        size, padding, pad_if_needed, tuple(fill) if isinstance(fill, list) else fill, mode
    )
    nodes = [("random_crop", {**args, "api": api})]
    try:
        check_or_decline(nodes, transform, image, seed, "reflects a side")
    except ValueError as error:
        message = str(error)
        chain = compile_chain([("from_array", {"mode": image.mode}), *nodes])
        with pytest.raises(native.Error) as refused:
            chain.run(np.ascontiguousarray(np.asarray(image)), seed)
        text = str(refused.value)
        assert message.rstrip(".") in text or "reflects a side" in text


@given(images(least=20, most=40), apis, st.integers(0, 6), st.floats(-3, 3, width=32), seeds)
def test_random_crop_of_tensors(image, api, padding, fill, seed):
    args = {"size": 20, "padding": padding, "fill": fill, "api": api}
    transform = v1.Compose([v1.ToTensor(), APIS[api].RandomCrop(20, padding, fill=fill)])
    check_image([TO_TENSOR, ("random_crop", args)], transform, image, seed)


@given(images(), apis, probabilities, st.booleans(), seeds)
def test_flips(image, api, p, tensors, seed):
    t = APIS[api]
    first = [v1.ToTensor()] if tensors else []
    nodes = [TO_TENSOR] if tensors else []
    nodes += [("random_horizontal_flip", {"p": p}), ("random_vertical_flip", {"p": 0.5})]
    transform = v1.Compose([*first, t.RandomHorizontalFlip(p), t.RandomVerticalFlip()])
    check_image(nodes, transform, image, seed)


factors = st.one_of(
    st.none(), st.floats(0, 2), st.tuples(st.floats(0, 3), st.floats(0, 3)).map(sorted).map(list)
)
hues = st.one_of(
    st.none(),
    st.floats(0, 0.5),
    st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5)).map(sorted).map(list),
)


@examples(400)
@given(images(most=40), apis, factors, factors, factors, hues, seeds)
def test_color_jitter(image, api, brightness, contrast, saturation, hue, seed):
    values = dict(brightness=brightness, contrast=contrast, saturation=saturation, hue=hue)
    values = {name: value for name, value in values.items() if value is not None}
    check_image([("color_jitter", values)], APIS[api].ColorJitter(**values), image, seed)


@pytest.mark.parametrize("factor", [0.0, 0.25, 0.5, 1.0, 1.7, 3.0])
@pytest.mark.parametrize("what", ["brightness", "contrast", "saturation"])
def test_color_jitter_on_every_pair_of_values(what, factor):
    r, g = np.mgrid[0:256, 0:256].astype(np.uint8)
    image = v1.functional.to_pil_image(np.dstack([r, g, (r ^ g)]))
    check_image(
        [("color_jitter", {what: [factor, factor]})],
        v1.ColorJitter(**{what: (factor, factor)}),
        image,
        1,
    )


@pytest.mark.slow
@pytest.mark.parametrize("hue", [-0.5, -0.013, 0.0039, 0.1, 0.5])
def test_color_jitter_hue_on_every_colour(hue):
    values = np.arange(1 << 24, dtype=np.uint32).reshape(4096, 4096, 1)
    colours = np.concatenate([values >> 16, values >> 8, values], axis=2).astype(np.uint8)
    image = v1.functional.to_pil_image(colours)
    check_image([("color_jitter", {"hue": [hue, hue]})], v1.ColorJitter(hue=(hue, hue)), image, 1)


@given(images(), apis, channels, seeds)
def test_grayscale(image, api, count, seed):
    check_image(
        [("grayscale", {"num_output_channels": count})], APIS[api].Grayscale(count), image, seed
    )


@given(images(), apis, probabilities, seeds)
def test_random_grayscale(image, api, p, seed):
    check_image([("random_grayscale", {"p": p})], APIS[api].RandomGrayscale(p), image, seed)


@examples(200)
@given(st.data(), images(), apis, probabilities, ranges, ratios, seeds, st.booleans())
def test_random_erasing(data, image, api, p, scale, ratio, seed, after_normalize):
    count = len(image.getbands())
    value = data.draw(st.one_of(st.integers(-2, 2), st.floats(-3, 3, width=32)))
    if data.draw(st.booleans()):
        value = [value * (c + 1) for c in range(count)]
    args = {"p": p, "scale": list(scale), "ratio": list(ratio), "value": value}
    erase = APIS[api].RandomErasing(p, scale, ratio, value)
    normalize = v1.Normalize([0.4], [0.3])
    steps = [normalize, erase] if after_normalize else [erase, normalize]
    nodes = [("normalize", {"mean": [0.4], "std": [0.3]}), ("random_erasing", args)]
    nodes = nodes if after_normalize else nodes[::-1]
    flip = ("random_horizontal_flip", {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transform = v1.Compose([v1.ToTensor(), *steps, v1.RandomHorizontalFlip()])
    check_image([TO_TENSOR, *nodes, flip], transform, image, seed)


@given(images(), probabilities, st.integers(0, 255), seeds)
def test_random_erasing_of_bytes(image, p, value, seed):
    transform = v2.Compose(
        [v2.PILToTensor(), v2.RandomErasing(p, value=value), v2.ToDtype(torch.float32, scale=True)]
    )
    nodes = [
        ("pil_to_tensor", {}),
        ("random_erasing", {"p": p, "value": value}),
        ("to_dtype", {"dtype": "float32", "scale": True, "api": 2}),
    ]
    check_image(nodes, transform, image, seed)
