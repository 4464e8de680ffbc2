"""Operators on tensors of float32 equal torchvision's bit for bit, by way of capture."""

import itertools
import zlib

import numpy as np
import pytest
import torch
from headrace.native import resizing
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.operators import (
    SEEDS,
    check_file,
    compile_chain,
    jpeg,
    native,
    noise,
)
from support.tensor_operators import CONVERSIONS, check, images, nodes_for, refusal, sizes
from support.torch_bits import needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

pytestmark = needs_vectors

APIS = {1: v1, 2: v2}
BILINEAR, BICUBIC = InterpolationMode.BILINEAR, InterpolationMode.BICUBIC
NEAREST, EXACT = InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT
FILTERS = [(BILINEAR, True), (BICUBIC, True)]
WAYS = [*FILTERS, (NEAREST, False), (NEAREST, True), (EXACT, False)]
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

seeds = st.integers(0, SEEDS)
ways = st.sampled_from(WAYS)
apis = st.sampled_from([1, 2])
conversions = st.sampled_from(list(CONVERSIONS))


@examples(600)
@given(images(), sizes(), apis, ways, conversions)
def test_resize(image, size, api, way, conversion):
    mode, antialias = way
    resize = APIS[api].Resize(size, mode, antialias=antialias)
    check([*CONVERSIONS[conversion](), resize], image)


@given(images(least=4), sizes(), ways, conversions, st.booleans())
def test_one_side_stays_as_it_is(image, size, way, conversion, rows):
    mode, antialias = way
    made = v1.Compose(CONVERSIONS[conversion]())(image)
    side = 0 if rows else 1
    size[side] = made.shape[1 + side]
    check([*CONVERSIONS[conversion](), v2.Resize(size, mode, antialias=antialias)], image)


@examples(300)
@given(
    images(),
    sizes(),
    apis,
    ways,
    conversions,
    st.sampled_from([(0.08, 1.0), (0.5, 0.6), (5.0, 6.0)]),
    seeds,
)
def test_random_resized_crop(image, size, api, way, conversion, scale, seed):
    mode, antialias = way
    crop = APIS[api].RandomResizedCrop(size, scale, (0.4, 2.5), mode, antialias=antialias)
    check([*CONVERSIONS[conversion](), crop], image, seed)


MOVES = {
    "flips": lambda: [v1.RandomHorizontalFlip(), v2.RandomVerticalFlip()],
    "crop": lambda: [v2.RandomCrop(9)],
    "larger crop": lambda: [v1.CenterCrop((15, 40))],
    "pad": lambda: [v1.Pad((1, 2, 3, 4), fill=0.3)],
    "pad of channels": lambda: [v2.Pad(2, fill=[-0.7, 0.25, 1e-9])],
    "padded crop": lambda: [v1.RandomCrop(12, padding=3, fill=-2)],
    "erasing": lambda: [v1.RandomErasing(0.8, value=0.4)],
    "erasing of channels": lambda: [v2.RandomErasing(0.8, value=[0.1, -5.0, 2.5])],
    **{
        f"{api.__name__}, {mode}": lambda api=api, mode=mode: [
            api.Pad((1, 2, 3, 0), padding_mode=mode),
            api.RandomCrop(11, padding=2, padding_mode=mode),
        ]
        for api, mode in itertools.product((v1, v2), ("edge", "reflect", "symmetric"))
    },
}


@examples(400)
@given(st.data(), images(least=12, most=60), apis, st.sampled_from(FILTERS), seeds)
def test_among_operators_that_move(data, image, api, way, seed):
    """Before and after an operator that computes, and before and after a Normalize."""
    mode, antialias = way
    few = image.mode == "L"
    moves = st.sampled_from([name for name in MOVES if not (few and "channels" in name)])
    chosen = [MOVES[data.draw(moves)]() for _ in range(3)]
    resize = APIS[api].Resize(
        data.draw(st.tuples(st.integers(12, 50), st.integers(12, 50))), mode, antialias=antialias
    )
    normalize = v1.Normalize([0.5], [0.25])
    steps = [[resize], [normalize], *chosen]
    order = data.draw(st.permutations(steps))
    first = CONVERSIONS[data.draw(conversions)]()
    # What is cropped must be large enough.
    check([*first, v2.Pad(9, fill=0.5), *itertools.chain(*order)], image, seed)


@pytest.mark.parametrize("move", MOVES)
@given(seeds)
def test_each_move(move, seed):
    image = noise(23, 31, 3, seed % 99)
    check(
        [v1.ToTensor(), v1.Normalize(*IMAGENET), *MOVES[move](), v1.Normalize([1], [2])],
        image,
        seed,
    )


@examples(200)
@given(images(least=8), sizes(40), sizes(), apis, conversions)
def test_twice(image, between, size, api, conversion):
    first = APIS[api].Resize(between, BICUBIC, antialias=True)
    then = APIS[3 - api].Resize(size, BILINEAR, antialias=True)
    check([*CONVERSIONS[conversion](), first, v1.Normalize([0.5], [0.1]), then], image)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@given(images(least=12), seeds)
def test_other_types_after_it(dtype, image, seed):
    last = [v2.ToDtype(dtype), v2.RandomHorizontalFlip(), v2.Pad(2, fill=0.1)]
    normalize = v2.Normalize([0.3], [0.7])
    check([v1.ToTensor(), v1.Resize((9, 14)), *last, normalize], image, seed)


@given(images(least=8))
def test_the_values_of_bicubic_are_not_cut_off(image):
    check([v1.ToTensor(), v1.Resize((37, 41), BICUBIC)], image)


RECIPES = {
    "validation": lambda: [
        v1.ToTensor(),
        v1.Resize(128),
        v1.CenterCrop(96),
        v1.Normalize(*IMAGENET),
    ],
    "normalized first": lambda: [
        v1.ToTensor(),
        v1.Normalize(*IMAGENET),
        v1.RandomResizedCrop(96),
        v1.RandomHorizontalFlip(),
    ],
    "training": lambda: [
        v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True),
        v2.RandomResizedCrop(96, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.Normalize(*IMAGENET),
        v2.RandomErasing(0.5),
        v2.RandomCrop(90),
    ],
    "after a resize of the picture": lambda: [
        v1.Resize(140),
        v1.RandomCrop(100),
        v1.ToTensor(),
        v1.Resize((64, 80), BICUBIC),
        v1.Normalize(*IMAGENET),
    ],
}


@pytest.mark.parametrize("recipe", list(RECIPES))
@given(st.integers(20, 400), st.integers(20, 400), seeds)
def test_files(recipe, height, width, seed):
    transforms = RECIPES[recipe]()
    data = jpeg(noise(height, width, 3, seed % 999))
    check_file(nodes_for(*transforms), v1.Compose(transforms), data, seed)


@pytest.mark.parametrize("recipe", list(RECIPES))
def test_the_tail_is_not_left_to_the_trainer(recipe):
    """Uint8 values can't stand for what a resize makes of floats. The cache keeps what comes before
    the first tensor."""
    nodes = [("decode", {}), *nodes_for(*RECIPES[recipe]())]
    chain = compile_chain(nodes)
    assert chain.tail() == 0
    assert chain.pure_prefix() == (2 if nodes[1][0] == "resize" else 1)


@pytest.mark.parametrize("name", ["Resize", "RandomResizedCrop"])
def test_what_is_not_native_says_why(name):
    def of(api, mode, antialias, *last, first=v1.ToTensor, **libraries):
        resize = getattr(APIS[api], name)(8, interpolation=mode, antialias=antialias)
        return refusal(first(), *last, resize, **libraries)

    for api in APIS:
        assert "number of torch's threads" in of(api, BILINEAR, False)
        assert "number of torch's threads" in of(api, BICUBIC, None)
    assert "interpolation lanczos has no" in of(2, InterpolationMode.LANCZOS, True)
    assert 'capability "DEFAULT"' in of(2, BILINEAR, True, cpu_capability="DEFAULT")
    for dtype in (torch.float16, torch.float64):
        assert "uint8 or float32 only" in of(2, BILINEAR, True, v2.ToDtype(dtype))


@pytest.mark.parametrize("transform", [v1.AugMix(), v2.RandomEqualize(), v2.RandAugment()])
def test_other_operators_of_floats_are_refused(transform):
    assert "uint8" in refusal(v1.ToTensor(), transform) or "PIL images" in refusal(
        v1.ToTensor(), transform
    )


def test_another_torch_is_refused(monkeypatch):
    transforms = [v2.ToImage(), v2.ToDtype(torch.float32), v2.Resize(8, antialias=True)]
    resizing.known_floats.cache_clear()
    real = resizing.checksums
    monkeypatch.setattr(resizing, "checksums", lambda *way, **of: (1, *real(*way, **of)[1:]))
    assert "resize tensors of float32 to other bits" in refusal(*transforms)
    monkeypatch.undo()
    resizing.known_floats.cache_clear()
    compile_chain([("from_array", {"mode": "RGB"}), *nodes_for(*transforms)])


@pytest.mark.parametrize("way", resizing._KNOWN_FRACTIONS, ids=str)
def test_the_checksums_of_fractions_are_the_operators(way):
    """Of what the client's own torch is compared with."""
    interpolation, antialias = way
    mode = InterpolationMode(interpolation)
    made = []
    for shape, size in resizing._CASES:
        pixels = resizing._images(*shape, 1, floats=False)[0].permute(1, 2, 0).contiguous()
        resize = v1.Resize(size, mode, antialias=antialias)
        nodes = nodes_for(v1.ToTensor(), v1.Normalize([0.5], [1.0]), resize)
        chain = compile_chain([("from_array", {"mode": "RGB"}), *nodes])
        got, _ = chain.run(pixels.numpy(), 0)
        made.append(zlib.crc32(np.ascontiguousarray(got).tobytes()))
    assert tuple(made) == resizing._KNOWN_FRACTIONS[way]


@pytest.mark.parametrize("api", [1, 2])
def test_a_torch_that_differs_in_fractions_alone_is_refused(monkeypatch, api):
    """Sums of whole numbers may be exact where those of fractions are not."""
    functional = APIS[api].functional
    real = functional.resize

    def other(image, *args, **named):
        whole = bool((image == image.round()).all())
        made = real(image, *args, **named)
        return made if whole else made.nextafter(made + 1)

    monkeypatch.setattr(functional, "resize", other)
    monkeypatch.setattr(functional, "resized_crop", crop_and(functional, other))
    resizing.known_floats.cache_clear()
    try:
        assert resizing.checksums(api, "bilinear", True) == resizing._KNOWN[api, "bilinear", True]
        assert not resizing.known_floats(api, "bilinear", True)
    finally:
        resizing.known_floats.cache_clear()


def crop_and(functional, resize):
    def resized_crop(image, top, left, height, width, *args, **named):
        return resize(functional.crop(image, top, left, height, width), *args, **named)

    return resized_crop


def test_only_nodes_of_floats_say_so():
    """A worker of an older release refuses an argument that it does not know."""
    resize = v2.Resize(8, antialias=True)
    assert "floats" not in nodes_for(resize, v1.ToTensor())[0][1]
    assert "floats" not in nodes_for(v2.ToImage(), resize)[1][1]
    assert nodes_for(v1.ToTensor(), v1.Normalize([1], [2]), resize)[2][1]["floats"] == 1


def test_a_column_is_left_to_the_trainer():
    """torch takes rows for columns there."""
    for transform in (v1.Resize((5, 1)), v2.RandomResizedCrop((5, 1)), v1.Resize(1)):
        nodes = [("from_array", {"mode": "RGB"}), *nodes_for(v1.ToTensor(), transform)]
        chain = compile_chain(nodes)
        with pytest.raises(native.Error, match="tensors of one column"):
            chain.run(torch.zeros(9, 7, 3, dtype=torch.uint8).numpy(), 0)
