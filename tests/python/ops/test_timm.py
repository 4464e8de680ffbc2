"""timm's transforms equal timm's own bit for bit, and leave the generators where timm does."""

import random

import numpy as np
import pytest
import torch
from headrace.native import timm_augment
from headrace.native.plan import NotNative
from headrace.native.transforms import nodes_of
from PIL import Image
from support.operators import as_array, assert_same_bits, compile_chain, native, noise
from torchvision import transforms as v1
from torchvision.transforms import v2

pytest.importorskip("timm", reason="./dev test installs timm")
from headrace.admission.lane_state import others_in, state_bytes  # noqa: E402
from timm.data import (
    auto_augment,  # noqa: E402
    create_transform,  # noqa: E402
)
from timm.data.random_erasing import RandomErasing  # noqa: E402
from timm.data.transforms import (  # noqa: E402
    MaybePILToTensor,
    MaybeToTensor,
    RandomResizedCropAndInterpolation,
)

DRAWS = 1000


def check(transform, image, seed, said, may_raise=None):
    """Both from generators of one seed, and where they stand afterwards. `may_raise`: the beginning of
    what timm then says; the trainer makes such a sample."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        want = as_array(transform(image))
    except ValueError as error:
        if may_raise is None or not str(error).startswith(may_raise):
            raise
        want = None
    nodes = [("from_array", {"mode": image.mode})]
    nodes += [(node.op, node.args) for node in nodes_of(v1.Compose([transform]))]
    chain = compile_chain(nodes)
    pixels = np.ascontiguousarray(np.asarray(image))
    if want is None:
        with pytest.raises(native.Error, match="posterizes to no fewer bits"):
            chain.run(pixels, seed)
        return
    got, _ = chain.run(pixels, seed)
    try:
        assert_same_bits(got, want)
        states = chain.states()
        assert states == state_bytes(others_in(states))
    except AssertionError:
        print(said, transform)
        raise


def drawn(count, make, **named):
    """`make(rng)` gives a transform and an image, `count` times."""
    start = random.SystemRandom().randrange(1 << 32)
    for number in range(count):
        rng = np.random.default_rng([start, number])
        transform, image = make(rng)
        seed = int(rng.integers(0, 2**48))
        check(transform, image, seed, (start, number, seed, image.size, image.mode), **named)


def an_image(rng, least=1, most=80):
    height, width = (int(side) for side in rng.integers(least, most, 2))
    return noise(height, width, int(rng.choice([1, 3])), int(rng.integers(0, 1000)))


def bounds(rng, low, high):
    return tuple(sorted(float(bound) for bound in rng.uniform(low, high, 2)))


POLICIES = [None, "rand-m9-mstd0.5-inc1", "rand-m7-n3-tweights", "original-mstd0.5", "v0r", "v0"]
WAYS = ["random", "random", "bilinear", "bicubic", "nearest", "lanczos", "box", "hamming"]


def a_crop(rng):
    size = int(rng.integers(1, 40))
    if rng.random() < 0.5:
        size = (size, int(rng.integers(1, 40)))
    named = {"interpolation": str(rng.choice(WAYS))}
    if rng.random() < 0.5:
        named["scale"] = bounds(rng, 0.05, 1.3)
    if rng.random() < 0.5:
        named["ratio"] = bounds(rng, 0.2, 4)
    return RandomResizedCropAndInterpolation(size, **named)


def test_random_resized_crop():
    """ "timm_random_resized_crop" """
    drawn(DRAWS, lambda rng: (v1.Compose([a_crop(rng), MaybePILToTensor()]), an_image(rng, 8)))


def test_it_falls_back_to_the_middle():
    def make(rng):
        scale = bounds(rng, 1.5, 4)
        crop = RandomResizedCropAndInterpolation(9, scale=scale, ratio=bounds(rng, 0.5, 2))
        return v1.Compose([crop, MaybeToTensor()]), an_image(rng, 3)

    drawn(100, make)


def an_erasing(rng):
    least = int(rng.integers(1, 4))
    named = {"min_count": least, "max_count": least + int(rng.integers(0, 3))}
    if rng.random() < 0.5:
        named["min_area"], named["max_area"] = bounds(rng, 0, 1.2)
    if rng.random() < 0.5:
        named["min_aspect"], named["max_aspect"] = bounds(rng, 0.1, 5)
    return RandomErasing(float(rng.random()), device="cpu", **named)


def test_random_erasing():
    """ "timm_random_erasing" """

    def make(rng):
        steps = [MaybePILToTensor() if rng.random() < 0.3 else MaybeToTensor()]
        steps += [an_erasing(rng)] * int(rng.integers(1, 3))
        if rng.random() < 0.3:
            steps.append(v2.RandomHorizontalFlip())
        return v1.Compose(steps), an_image(rng)

    drawn(DRAWS, make)


INTERPOLATIONS = [None, Image.Resampling.BICUBIC, Image.Resampling.NEAREST]


def hparams(rng):
    fill = tuple(int(value) for value in rng.integers(0, 256, 3))
    made = {"translate_const": int(rng.integers(0, 60)), "img_mean": fill}
    way = INTERPOLATIONS[rng.integers(3)]
    if way is not None:
        made["interpolation"] = way
    return made


def a_picture(rng):
    return an_image(rng, 2).convert("RGB")


def test_rand_augment():
    """ "timm_augment" """

    def make(rng):
        parts = [f"rand-m{rng.integers(0, 11)}-n{rng.integers(1, 5)}"]
        parts += [f"inc{rng.integers(0, 2)}"] if rng.random() < 0.6 else []
        parts += [f"mstd{rng.choice([0.5, 1.0, 3.0, 101])}"] if rng.random() < 0.7 else []
        parts += [f"mmax{rng.integers(1, 25)}"] if rng.random() < 0.2 else []
        parts += [f"p{rng.random():.2f}"] if rng.random() < 0.4 else []
        parts += ["tweights"] if rng.random() < 0.3 else []
        transform = auto_augment.rand_augment_transform("-".join(parts), hparams(rng))
        return v1.Compose([transform, MaybePILToTensor()]), a_picture(rng)

    drawn(DRAWS, make, may_raise="bits must be between")


def test_auto_augment():
    def make(rng):
        policy = str(rng.choice(["original", "originalr", "v0", "v0r"]))
        policy += f"-mstd{rng.choice([0.5, 2])}" if rng.random() < 0.6 else ""
        transform = auto_augment.auto_augment_transform(policy, hparams(rng))
        return v1.Compose([transform, MaybePILToTensor()]), a_picture(rng)

    drawn(DRAWS, make, may_raise="bits must be between")


@pytest.mark.parametrize("name", timm_augment._OPS)
def test_each_operation(name):
    def make(rng):
        magnitude = float(rng.choice([0, 1, 5, 10])) if rng.random() < 0.5 else rng.uniform(0, 10)
        op = auto_augment.AugmentOp(name, 1.0, float(magnitude), hparams(rng))
        return v1.Compose([auto_augment.AutoAugment([[op]]), MaybePILToTensor()]), a_picture(rng)

    drawn(100, make, may_raise="bits must be between")


def test_whole_transforms():
    def make(rng):
        named = {
            "interpolation": str(rng.choice(WAYS[:4])),
            "vflip": float(rng.choice([0, 0.4])),
            "re_prob": float(rng.choice([0, 0.7])),
            "re_count": int(rng.integers(1, 4)),
            "color_jitter": float(rng.choice([0, 0.4])),
            "normalize": bool(rng.random() < 0.8),
            "auto_augment": POLICIES[rng.integers(len(POLICIES))],
        }
        transform = create_transform(int(rng.integers(8, 40)), is_training=True, **named)
        image = an_image(rng, 8)
        return transform, image.convert("RGB")

    drawn(200, make, may_raise="bits must be between")


class Other:
    value = "bilinear"


def altered(transform, **named):
    vars(transform).update(named)
    return transform


CROP = RandomResizedCropAndInterpolation
REFUSED = {
    "random colours": lambda: RandomErasing(mode="rand", device="cpu"),
    "random pixels": lambda: RandomErasing(mode="pixel", device="cpu"),
    "on another device": lambda: RandomErasing(),
    "too many rectangles": lambda: RandomErasing(min_count=65, device="cpu"),
    "a probability of NumPy's": lambda: RandomErasing(np.float32(0.5), device="cpu"),
    "one side": lambda: altered(CROP(8), size=(8,)),
    "three bounds": lambda: altered(CROP(8), scale=(0.1, 0.2, 0.3)),
    "a ratio below 0": lambda: altered(CROP(8), ratio=(-1.0, 2.0)),
    "a text": lambda: altered(CROP(8), interpolation="bilinear"),
    "other ways to draw": lambda: altered(
        CROP(8), interpolation=(v1.InterpolationMode.BOX, v1.InterpolationMode.BICUBIC)
    ),
    "a class of the program's": lambda: altered(CROP(8), interpolation=Other()),
    "a replaced method": lambda: altered(CROP(8), get_params=lambda *args: (0, 0, 1, 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_native_form(name):
    step = REFUSED[name]()
    steps = [step, v1.ToTensor()] if isinstance(step, CROP) else [v1.ToTensor(), step]
    with pytest.raises((NotNative, RuntimeError)):
        nodes = nodes_of(v1.Compose(steps))
        compile_chain([("from_array", {"mode": "RGB"}), *((n.op, n.args) for n in nodes)])


@pytest.mark.parametrize("steps", [[v1.ToTensor(), CROP(8)], [RandomErasing(device="cpu")]])
def test_of_other_inputs_they_stay_python(steps):
    with pytest.raises((NotNative, RuntimeError)):
        nodes = nodes_of(v1.Compose(steps))
        compile_chain([("from_array", {"mode": "RGB"}), *((n.op, n.args) for n in nodes)])


def test_nodes_say_that_they_draw_from_python():
    """So a peer that knows no other generator refuses the plan."""
    nodes = nodes_of(create_transform(8, is_training=True, re_prob=0.5))
    drawing = [node for node in nodes if node.op.startswith("timm_")]
    assert len(drawing) == 2
    assert all(node.args["generator"] == "python" for node in drawing)
