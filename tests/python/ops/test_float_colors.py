"""Operators that change the colours of float32 tensors equal torchvision's bit for bit, with their
draws, by way of capture."""

import pytest
import torch
from headrace.native import float_bits, float_nodes
from headrace.native.plan import NotNative
from headrace.native.transforms import nodes_of
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
)
from support.tensor_operators import CONVERSIONS, nodes_for, refusal
from support.torch_bits import needs_vectors
from torchvision import transforms as v1
from torchvision.transforms import v2

pytestmark = [needs_vectors, pytest.mark.usefixtures("one_thread")]

APIS = {1: v1, 2: v2}
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
seeds = st.integers(0, SEEDS)
apis = st.sampled_from([1, 2])
conversions = st.sampled_from(list(CONVERSIONS))
COLORS = {
    "jitter": lambda api: api.ColorJitter(0.4, 0.4, 0.4, 0.1),
    "strong jitter": lambda api: api.ColorJitter((0, 3), 0, (0, 5), 0.5),
    "brightness": lambda api: api.ColorJitter(brightness=0.5),
    "contrast": lambda api: api.ColorJitter(contrast=(0.0, 2.0)),
    "saturation": lambda api: api.ColorJitter(saturation=0.9),
    "hue": lambda api: api.ColorJitter(hue=(-0.2, 0.5)),
    "grayscale": lambda api: api.Grayscale(3),
    "one channel": lambda api: api.Grayscale(),
    "random grayscale": lambda api: api.RandomGrayscale(0.6),
    "invert": lambda api: api.RandomInvert(0.6),
    "solarize": lambda api: api.RandomSolarize(0.4, 0.6),
    "solarize all": lambda api: api.RandomSolarize(-1.0, 1.0),
    "autocontrast": lambda api: api.RandomAutocontrast(0.7),
    "posterize": lambda api: v2.RandomPosterize(3, 0.7),  # v1 raises
}
BLURS = {
    "sharpness": lambda api: api.RandomAdjustSharpness(1.7, 0.8),
    "softer": lambda api: api.RandomAdjustSharpness(0.2, 0.8),
    "blur": lambda api: api.GaussianBlur(3, (0.1, 1.5)),
    "large blur": lambda api: api.GaussianBlur((9, 5), (0.5, 3.0)),
}
# What the trainer makes. v1's hue makes NaN of black pixels with elements below 0.
TRAINERS = ("sign of the least element", "are no finite numbers")
OF_MEANS = ("jitter", "contrast")


@st.composite
def images(draw, least=1, most=70, channels=(1, 3)):
    side = st.integers(least, most)
    return noise(draw(side), draw(side), draw(st.sampled_from(channels)), draw(st.integers(0, 999)))


def check(transforms, image, seed=0):
    """False: the operator refused this image, and the trainer would make it."""
    try:
        return check_image(nodes_for(*transforms), v1.Compose(list(transforms)), image, seed)
    except native.Error as error:
        assert any(reason in str(error) for reason in TRAINERS), error
        return False


@pytest.mark.parametrize("name", COLORS)
@examples(120)
@given(st.data(), apis, conversions, seeds)
def test_each(name, data, api, conversion, seed):
    channels = (3,) if name in OF_MEANS else (1, 3)
    image = data.draw(images(channels=channels))
    check([*CONVERSIONS[conversion](), COLORS[name](APIS[api])], image, seed)


@pytest.mark.parametrize("name", BLURS)
@examples(300)
@given(st.data(), apis, conversions, seeds)
def test_sums_of_neighbours(name, data, api, conversion, seed):
    """Of images of one channel large ones alone."""
    image = data.draw(st.one_of(images(least=9, channels=(3,)), images(150, 170, (1,))))
    steps = [*CONVERSIONS[conversion](), BLURS[name](APIS[api])]
    assert check([*steps, *data.draw(st.sampled_from(AFTER))()], image, seed)


AFTER = [list, lambda: [v1.RandomCrop(7)], lambda: [v1.Normalize([0.4], [0.2]), v2.CenterCrop(8)]]


@pytest.mark.parametrize("api", APIS)
def test_small_images_of_one_channel_are_left_to_the_trainer(api):
    for name in ("sharpness", "blur"):
        nodes = nodes_for(v1.ToTensor(), BLURS[name](APIS[api]))
        chain = compile_chain([("from_array", {"mode": "L"}), *nodes])
        with pytest.raises(native.Error, match="images of one channel in another order"):
            for seed in range(9):  # until it happens
                chain.run(torch.zeros(20, 30, dtype=torch.uint8).numpy(), seed)


@pytest.mark.parametrize("name", OF_MEANS)
@pytest.mark.parametrize("api", APIS)
@given(st.integers(1, 18), st.integers(1, 18), seeds)
def test_contrast_where_the_elements_fill_vectors_is_never_refused(name, api, height, width, seed):
    image = noise(4 * height, 4 * width, 3, seed % 999)
    assert check([v1.ToTensor(), COLORS[name](APIS[api])], image, seed)


@examples(300)
@given(st.data(), images(least=24, channels=(3,)), conversions, seeds)
def test_among_other_operators(data, image, conversion, seed):
    """Before and after operators that move, map and resize, in any order."""
    apis_of = st.sampled_from([v1, v2])
    names = st.sampled_from([name for name in COLORS if name != "one channel"])
    colors = [COLORS[data.draw(names)](data.draw(apis_of)) for _ in range(2)]
    others = [
        v1.Normalize([0.5], [0.25]),
        v2.RandomHorizontalFlip(),
        v1.RandomCrop(20, padding=1, padding_mode="reflect"),
        v2.Resize((24, 28), antialias=True),
        v1.RandomErasing(0.7, value=0.4),
    ]
    chosen = data.draw(st.lists(st.sampled_from(others), max_size=3, unique=True))
    order = data.draw(st.permutations([*colors, *chosen]))
    check([*CONVERSIONS[conversion](), v2.Pad(4, fill=0.5), *order], image, seed)


RECIPES = {
    "jitter": lambda: [
        v1.ToTensor(),
        v1.RandomResizedCrop(64),
        v1.RandomHorizontalFlip(),
        v1.ColorJitter(0.4, 0.4, 0.4, 0.1),
        v1.RandomGrayscale(0.2),
        v1.Normalize(*IMAGENET),
    ],
    "v2": lambda: [
        v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True),
        v2.RandomResizedCrop((48, 64), antialias=True),
        v2.ColorJitter(0.8, 0.8, 0.8, 0.2),
        v2.RandomGrayscale(0.2),
        v2.RandomSolarize(0.5, 0.2),
        v2.Normalize(*IMAGENET),
    ],
    "before a crop": lambda: [
        v2.ToImage(),
        v2.ToDtype(torch.float32, scale=True),
        v2.RandomAutocontrast(),
        v2.ColorJitter(0.4, None, 0.4, 0.1),
        v2.RandomCrop(20),
    ],
}


@pytest.mark.parametrize("recipe", RECIPES)
@given(st.integers(20, 260), st.integers(20, 260), seeds)
def test_files(recipe, height, width, seed):
    transforms = RECIPES[recipe]()
    data = jpeg(noise(height, width, 3, seed % 999))
    check_file(nodes_for(*transforms), v1.Compose(transforms), data, seed)


def test_what_is_not_native_says_why():
    tensor = v1.ToTensor()
    raises = "the framework raises on a tensor of float32"
    assert raises in refusal(tensor, v1.RandomPosterize(3))
    for api in APIS.values():
        assert raises in refusal(tensor, api.RandomSolarize(128))
        assert "tensors of uint8 only" in refusal(tensor, api.RandomEqualize())
        contrast = api.ColorJitter(contrast=0.4)
        assert "depends on how it lies in memory" in refusal(tensor, contrast, mode="L")
        assert "depends on how it lies" in refusal(tensor, api.Grayscale(), contrast)
        half = v2.ToDtype(torch.float16)
        assert "uint8 or float32 only" in refusal(tensor, half, api.ColorJitter(0.4))
        assert 'capability "DEFAULT"' in refusal(
            tensor, api.ColorJitter(0.4), cpu_capability="DEFAULT"
        )


def test_after_a_quarter_turn_of_v2_a_mean_is_not_known():
    turn = v2.RandomRotation((90, 90))
    contrast = v1.ColorJitter(contrast=0.4)
    floats = v2.ToDtype(torch.float32)
    assert "to other bits" in refusal(v2.ToImage(), turn, floats, contrast)
    compile_chain([("from_array", {"mode": "RGB"}), *nodes_for(turn, v1.ToTensor(), contrast)])
    brightness = v1.ColorJitter(0.4)
    compile_chain(
        [("from_array", {"mode": "RGB"}), *nodes_for(v2.ToImage(), turn, floats, brightness)]
    )


def test_another_torch_is_refused(monkeypatch):
    real = float_bits.checksums(float_bits.COLORS, 2)
    monkeypatch.setattr(float_bits, "checksums", lambda what, api: (1, *real[1:]))
    assert "change tensors of float32 to other bits" in refusal(v1.ToTensor(), v2.Grayscale())


def test_only_nodes_of_floats_say_so():
    """A worker of an older release refuses an argument that it does not know."""
    jitter = v2.ColorJitter(0.4)
    assert "floats" not in nodes_for(jitter, v1.ToTensor())[0][1]
    assert "floats" not in nodes_for(v2.ToImage(), jitter)[1][1]
    assert nodes_for(v1.ToTensor(), v1.Normalize([1], [2]), jitter)[2][1]["floats"] == 1


@pytest.mark.parametrize(
    ("first", "api", "most"),
    [(v1.ToTensor, v1, 10922), (v1.PILToTensor, v1, 65793), (v1.PILToTensor, v2, 10922)],
)
def test_more_pixels_than_one_thread_computes(first, api, most):
    """Without workers the program's own threads share the work on large images."""
    nodes = nodes_of(v1.Compose([first(), api.ColorJitter(contrast=0.4)]))
    float_nodes.limit_to_one_thread(nodes)
    chain = compile_chain([("from_array", {"mode": "RGB"}), *((n.op, n.args) for n in nodes)])
    chain.run(torch.zeros(1, most, 3, dtype=torch.uint8).numpy(), 0)
    with pytest.raises(native.Error, match="among its threads"):
        chain.run(torch.zeros(1, most + 1, 3, dtype=torch.uint8).numpy(), 0)


@pytest.mark.parametrize("policy", [v1.RandAugment, v2.AutoAugment, v1.TrivialAugmentWide])
def test_policies_of_tensors_need_one_thread(policy):
    float_nodes.limit_to_one_thread(nodes_of(v1.Compose([policy(), v1.ToTensor()])))
    with pytest.raises(NotNative, match="threads of torch's"):
        float_nodes.limit_to_one_thread(nodes_of(v1.Compose([v1.PILToTensor(), policy()])))


def test_aug_mix_needs_one_thread_where_it_changes_contrast():
    """It makes tensors of pictures."""
    float_nodes.limit_to_one_thread(nodes_of(v1.Compose([v1.AugMix(all_ops=False), v1.ToTensor()])))
    with pytest.raises(NotNative, match="threads of torch's"):
        float_nodes.limit_to_one_thread(nodes_of(v1.Compose([v1.AugMix(), v1.ToTensor()])))


def test_a_picture_has_no_limit():
    """A worker of an older release refuses the argument."""
    nodes = nodes_of(v1.Compose([v2.ColorJitter(contrast=0.4), v1.ToTensor()]))
    float_nodes.limit_to_one_thread(nodes)
    assert "mean_pixels" not in nodes[0].args
