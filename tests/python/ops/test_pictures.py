"""An image with its mask against torchvision: modes L and P, draws for both, and their ends."""

import io
import os
import subprocess
import sys

import hypothesis
import numpy as np
import pytest
import torch
from headrace.native import augment
from hypothesis import strategies as st
from PIL import Image
from support.image_kernels import settings
from support.operators import (
    LIBRARIES,
    SEEDS,
    as_array,
    assert_same_bits,
    draws_of,
    jpeg,
    native,
    noise,
    png,
    torch_exp_table,
)
from support.png_files import KINDS, encode
from support.torch_bits import needs_products, needs_vectors
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import functional as F
from torchvision.transforms import v2

NEAREST = F.InterpolationMode.NEAREST
BILINEAR = F.InterpolationMode.BILINEAR
sides = st.integers(1, 70)
seeds = st.integers(0, SEEDS)
GRIDS = {"tensor_grids": augment.matrix_products()}
TENSORS = {"tensors": 1}


def mask_of(height, width, seed, mode):
    labels = np.random.default_rng(seed).integers(0, 21, (height, width)).astype(np.uint8)
    mask = Image.fromarray(labels)
    if mode == "P":
        mask.putpalette([value * 7 % 256 for value in range(768)])
    return png(mask)


@st.composite
def pairs(draw):
    size, seed = (draw(sides), draw(sides)), draw(st.integers(0, 2**32 - 1))
    image = noise(*size, 3, seed)
    encoded = jpeg(image) if draw(st.booleans()) else png(image)
    return encoded, mask_of(*size, seed, draw(st.sampled_from(["L", "P"])))


class Nodes:
    """The nodes of an image and of its mask, which draws what the image draws."""

    def __init__(self, image=(), mask=()):
        self.nodes, self.last = [], [None, None]
        self.add(0, "decode")
        for op, args in image:
            self.add(0, op, **args)
        self.add(1, "decode", mode="index", file=1)
        for op, args in mask:
            self.add(1, op, **args)

    def add(self, picture, op, **args):
        number, before = len(self.nodes), self.last[picture]
        inputs = [] if before == number - 1 or number == 0 else [-1 if before is None else before]
        self.nodes.append((op, args, inputs))
        self.last[picture] = number

    def both(self, op, image=None, mask=None, **args):
        self.add(0, op, **args, **(image or {}))
        drawn = self.last[0]
        self.add(1, op, **args, **(mask or {}), draws_of=drawn)

    def compile(self):
        ranges = native.Graph(self.nodes, self.last, LIBRARIES, b"").exp_ranges()
        return native.Graph(self.nodes, self.last, LIBRARIES, torch_exp_table(ranges))


def check(nodes, program, files, seed):
    """`program` makes an image and a mask of two PIL images, as they were opened."""
    pictures = Image.open(io.BytesIO(files[0])).convert("RGB"), Image.open(io.BytesIO(files[1]))
    torch.manual_seed(seed)
    want = program(*pictures)
    draws = draws_of(torch.get_rng_state().numpy().tobytes(), seed)
    graph = nodes.compile()
    for cached in (False, True):
        got, taken = graph.run(list(files), seed, cached)
        for mine, theirs in zip(got, want, strict=True):
            assert_same_bits(mine, as_array(theirs))
        assert taken == draws


# Decoding.


@settings
@hypothesis.given(
    st.sampled_from([(color, depth) for color in KINDS for depth in KINDS[color][0]]),
    sides,
    sides,
    st.booleans(),
    seeds,
)
def test_a_file_without_convert_and_as_gray(kind, height, width, interlaced, seed):
    file = encode(seed % 2**32, width, height, *kind, int(interlaced))
    opened = Image.open(io.BytesIO(file))
    index = native.Chain([("decode", {"mode": "index"})], LIBRARIES, b"")
    if opened.mode in ("L", "P"):
        assert_same_bits(index.run(file, 0)[0], as_array(opened))
    else:
        with pytest.raises(native.Error, match=r"^Unsupported.*another mode"):
            index.run(file, 0)
    luma = native.Chain([("decode", {"mode": "L"})], LIBRARIES, b"")
    assert_same_bits(luma.run(file, 0)[0], as_array(opened.convert("L")))


@pytest.mark.skipif("HEADRACE_TEST_PILLOW_OLD" not in os.environ, reason="no older Pillow")
@pytest.mark.parametrize("color", KINDS)
def test_an_older_pillow_has_the_same_grays(color):
    file = encode(9, 256, 200, color, KINDS[color][0][-1], 0)
    program = (
        "import io, sys; import numpy as np; from PIL import Image; "
        "image = Image.open(io.BytesIO(sys.stdin.buffer.read())).convert('L'); "
        "sys.stdout.buffer.write(np.asarray(image).tobytes())"
    )
    made = subprocess.run(
        [sys.executable, "-c", program],
        input=file,
        stdout=subprocess.PIPE,
        env=dict(os.environ, PYTHONPATH=os.environ["HEADRACE_TEST_PILLOW_OLD"]),
        check=True,
    ).stdout
    luma = native.Chain([("decode", {"mode": "L"})], LIBRARIES, b"")
    assert luma.run(file, 0)[0].tobytes() == made


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_a_photograph_without_convert_and_as_gray(mode):
    file = jpeg(noise(50, 71, 3, 5).convert(mode))
    opened = Image.open(io.BytesIO(file))
    index = native.Chain([("decode", {"mode": "index"})], LIBRARIES, b"")
    if mode == "L":
        assert_same_bits(index.run(file, 0)[0], as_array(opened))
    else:
        with pytest.raises(native.Error, match=r"^Unsupported"):
            index.run(file, 0)
    luma = native.Chain([("decode", {"mode": "L"})], LIBRARIES, b"")
    assert_same_bits(luma.run(file, 0)[0], as_array(opened.convert("L")))


# Programs with torchvision v1's functions on PIL images.


@settings
@hypothesis.given(pairs(), sides, seeds)
def test_random_resized_crop_of_pil_images(files, side, seed):
    def program(image, mask):
        box = v1.RandomResizedCrop.get_params(image, [0.5, 2.0], [3 / 4, 4 / 3])
        return (
            F.to_tensor(F.resized_crop(image, *box, [side, 33], BILINEAR)),
            F.pil_to_tensor(F.resized_crop(mask, *box, [side, 33], NEAREST)),
        )

    nodes = Nodes()
    nodes.both(
        "random_resized_crop",
        size=[side, 33],
        scale=[0.5, 2.0],
        mask={"interpolation": "nearest"},
    )
    nodes.add(0, "to_tensor")
    nodes.add(1, "pil_to_tensor")
    check(nodes, program, files, seed)


@settings
@hypothesis.given(pairs(), seeds)
def test_flips_and_a_rotation_of_pil_images(files, seed):
    def program(image, mask):
        if torch.rand(1) < 0.5:
            image, mask = F.hflip(image), F.hflip(mask)
        if torch.rand(1) < 0.5:
            image, mask = F.vflip(image), F.vflip(mask)
        angle = v1.RandomRotation.get_params([-40.0, 40.0])
        image = F.rotate(image, angle, BILINEAR, fill=[1, 2, 3])
        mask = F.rotate(mask, angle, NEAREST, fill=255)
        return F.to_tensor(image), torch.as_tensor(np.array(mask), dtype=torch.int64)

    nodes = Nodes()
    nodes.both("random_horizontal_flip", p=0.5)
    nodes.both("random_vertical_flip", p=0.5)
    nodes.both(
        "random_rotation",
        degrees=[-40.0, 40.0],
        image={"interpolation": "bilinear", "fill": [1, 2, 3]},
        mask={"interpolation": "nearest", "fill": 255},
    )
    nodes.add(0, "to_tensor")
    nodes.add(1, "pil_to_tensor")
    nodes.add(1, "to_dtype", dtype="int64")
    nodes.add(1, "squeeze")
    check(nodes, program, files, seed)


@settings
@hypothesis.given(pairs(), seeds)
def test_an_affine_motion_of_pil_images(files, seed):
    def program(image, mask):
        motion = v1.RandomAffine.get_params(
            [-30.0, 30.0], [0.1, 0.2], [0.7, 1.3], [-5.0, 5.0], list(image.size)
        )
        return (
            F.pil_to_tensor(F.affine(image, *motion, BILINEAR, fill=7)),
            F.pil_to_tensor(F.affine(mask, *motion, NEAREST, fill=255)),
        )

    nodes = Nodes()
    nodes.both(
        "random_affine",
        degrees=[-30.0, 30.0],
        translate=[0.1, 0.2],
        scale=[0.7, 1.3],
        shear=[-5.0, 5.0],
        image={"interpolation": "bilinear", "fill": 7},
        mask={"interpolation": "nearest", "fill": 255},
    )
    nodes.add(0, "pil_to_tensor")
    nodes.add(1, "pil_to_tensor")
    check(nodes, program, files, seed)


# torchvision v2.


def as_tensors(image, mask):
    return tv_tensors.Image(image), tv_tensors.Mask(mask)


@needs_vectors
@settings
@hypothesis.given(pairs(), st.integers(1, 60), st.integers(2, 50), seeds)
def test_torchvisions_own_preset_for_segmentation(files, crop, least, seed):
    program = v2.Compose(
        [
            v2.RandomResize(least, 2 * least, antialias=True),
            v2.RandomHorizontalFlip(0.5),
            v2.RandomCrop(
                crop, pad_if_needed=True, fill={tv_tensors.Image: 0, tv_tensors.Mask: 255}
            ),
            v2.ToDtype(
                {tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None},
                scale=True,
            ),
            v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    nodes = Nodes([("to_image", {})], [("pil_to_tensor", {})])
    nodes.both(
        "random_resize",
        min_size=least,
        max_size=2 * least,
        antialias=1,
        api=2,
        **TENSORS,
        mask={"interpolation": "nearest"},
    )
    nodes.both("random_horizontal_flip", p=0.5)
    nodes.both("random_crop", size=crop, pad_if_needed=1, api=2, mask={"fill": 255})
    nodes.add(0, "to_dtype", dtype="float32", scale=1, api=2)
    nodes.add(0, "normalize", mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    nodes.add(1, "to_dtype", dtype="int64", api=2)

    def run(image, mask):
        return program(*as_tensors(image, mask))

    try:
        check(nodes, run, files, seed)
    except native.Error as error:
        # Such images are the trainer's.
        assert "one column" in str(error) or "must be > 0" in str(error)


@needs_vectors
@needs_products
@settings
@hypothesis.given(pairs(), seeds)
def test_a_rotation_of_tensors(files, seed):
    turn = v2.RandomRotation(30, interpolation=BILINEAR, fill={tv_tensors.Image: 3, "others": 9})
    nodes = Nodes([("to_image", {})], [("pil_to_tensor", {})])
    nodes.both(
        "random_rotation",
        degrees=[-30.0, 30.0],
        api=2,
        **GRIDS,
        image={"interpolation": "bilinear", "fill": 3},
        mask={"interpolation": "nearest", "fill": 9},
    )
    check(nodes, lambda *pictures: turn(*as_tensors(*pictures)), files, seed)


@needs_vectors
@settings
@hypothesis.given(pairs(), st.integers(1, 60), seeds)
def test_an_image_of_pil_with_a_mask_of_tensors(files, side, seed):
    program = v2.Compose(
        [
            v2.RandomCrop((side, 20), pad_if_needed=True),
            v2.RandomHorizontalFlip(0.5),
            v2.RandomResizedCrop((24, side), antialias=True),
            v2.ToImage(),
        ]
    )
    nodes = Nodes(mask=[("pil_to_tensor", {})])
    nodes.both("random_crop", size=[side, 20], pad_if_needed=1, api=2)
    nodes.both("random_horizontal_flip", p=0.5)
    nodes.both(
        "random_resized_crop",
        size=[24, side],
        antialias=1,
        api=2,
        **TENSORS,
        mask={"interpolation": "nearest"},
    )
    nodes.add(0, "to_image")
    try:
        check(nodes, lambda image, mask: program(image, tv_tensors.Mask(mask)), files, seed)
    except native.Error as error:
        assert "one column" in str(error)


@settings
@hypothesis.given(pairs(), seeds)
def test_a_gate_holds_for_both(files, seed):
    program = v2.Compose(
        [v2.RandomApply([v2.ColorJitter(0.5), v2.RandomVerticalFlip(0.5)], 0.6), v2.ToImage()]
    )
    nodes = Nodes()
    nodes.add(0, "random_apply", p=0.6, nodes=2, api=2)
    gate = nodes.last[0]
    nodes.add(0, "color_jitter", brightness=0.5)
    nodes.add(0, "random_vertical_flip", p=0.5)
    flip = nodes.last[0]
    nodes.add(0, "to_image")
    nodes.add(1, "random_apply", p=0.6, nodes=1, api=2, draws_of=gate)
    nodes.add(1, "random_vertical_flip", p=0.5, draws_of=flip)
    nodes.add(1, "pil_to_tensor")
    check(nodes, lambda image, mask: program(image, tv_tensors.Mask(mask)), files, seed)
