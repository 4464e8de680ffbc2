"""Whole pipelines, as people write them, from files and arrays, with more than one Pillow."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support.extent import examples
from support.operators import (
    BUILD,
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

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = ("normalize", {"mean": MEAN, "std": STD})
V2_END = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
V2_END_NODES = [
    ("to_image", {}),
    ("to_dtype", {"dtype": "float32", "scale": 1, "api": 2}),
    NORMALIZE,
]
SIDE = 64

PIPELINES = {
    "imagenet train v1": (
        v1.Compose(
            [
                v1.RandomResizedCrop(SIDE),
                v1.RandomHorizontalFlip(),
                v1.ToTensor(),
                v1.Normalize(MEAN, STD),
            ]
        ),
        [
            ("random_resized_crop", {"size": SIDE}),
            ("random_horizontal_flip", {}),
            ("to_tensor", {}),
            NORMALIZE,
        ],
    ),
    "imagenet train v2": (
        v2.Compose([v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), *V2_END]),
        [("random_resized_crop", {"size": SIDE}), ("random_horizontal_flip", {}), *V2_END_NODES],
    ),
    "imagenet val v1": (
        v1.Compose(
            [v1.Resize(SIDE + 8), v1.CenterCrop(SIDE), v1.ToTensor(), v1.Normalize(MEAN, STD)]
        ),
        [
            ("resize", {"size": SIDE + 8}),
            ("center_crop", {"size": SIDE}),
            ("to_tensor", {}),
            NORMALIZE,
        ],
    ),
    "imagenet val v2 bicubic": (
        v2.Compose([v2.Resize(SIDE + 8, InterpolationMode.BICUBIC), v2.CenterCrop(SIDE), *V2_END]),
        [
            ("resize", {"size": SIDE + 8, "interpolation": "bicubic"}),
            ("center_crop", {"size": SIDE}),
            *V2_END_NODES,
        ],
    ),
    "self-supervised": (
        v1.Compose(
            [
                v1.RandomResizedCrop(SIDE, (0.2, 1.0), interpolation=InterpolationMode.LANCZOS),
                v1.RandomVerticalFlip(),
                v1.ColorJitter(0.4, 0.4, 0.4, 0.1),
                v1.RandomGrayscale(0.2),
                v1.RandomHorizontalFlip(),
                v1.ToTensor(),
                v1.RandomErasing(0.5, value=(0.1, 0.2, 0.3)),
                v1.Normalize(MEAN, STD),
            ]
        ),
        [
            (
                "random_resized_crop",
                {"size": SIDE, "scale": [0.2, 1.0], "interpolation": "lanczos"},
            ),
            ("random_vertical_flip", {}),
            ("color_jitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}),
            ("random_grayscale", {"p": 0.2}),
            ("random_horizontal_flip", {}),
            ("to_tensor", {}),
            ("random_erasing", {"value": [0.1, 0.2, 0.3]}),
            NORMALIZE,
        ],
    ),
    "crops one after the other": (
        v1.Compose(
            [
                v1.CenterCrop(90),
                v1.RandomHorizontalFlip(),
                v1.Pad(5, (1, 2, 3)),
                v1.RandomCrop(70, 3, True, padding_mode="symmetric"),
                v1.RandomVerticalFlip(),
                v1.Resize((33, 44), InterpolationMode.NEAREST),
                v1.CenterCrop((30, 50)),
                v1.PILToTensor(),
            ]
        ),
        [
            ("center_crop", {"size": 90}),
            ("random_horizontal_flip", {}),
            ("pad", {"padding": 5, "fill": [1, 2, 3]}),
            (
                "random_crop",
                {"size": 70, "padding": 3, "pad_if_needed": 1, "padding_mode": "symmetric"},
            ),
            ("random_vertical_flip", {}),
            ("resize", {"size": [33, 44], "interpolation": "nearest"}),
            ("center_crop", {"size": [30, 50]}),
            ("pil_to_tensor", {}),
        ],
    ),
}
SUBSAMPLINGS = ["4:4:4", "4:2:2", "4:2:0"]


@examples(40)
@pytest.mark.parametrize("name", PIPELINES)
@given(
    st.integers(1, 250),
    st.integers(1, 250),
    st.sampled_from(SUBSAMPLINGS),
    st.booleans(),
    st.integers(20, 100),
    st.integers(0, SEEDS),
)
def test_pipelines_from_jpeg(name, height, width, sampling, progressive, quality, seed):
    transform, nodes = PIPELINES[name]
    data = jpeg(
        noise(height, width, 3, seed % 997),
        subsampling=sampling,
        progressive=progressive,
        quality=quality,
    )
    try:
        check_file(nodes, transform, data, seed)
    except native.Error as error:
        assert "no pixels" in str(error) or "must be > 0" in str(error)
    except (ValueError, ZeroDivisionError) as error:
        assert "must be > 0" in str(error)  # PIL's word on a resize of a long thin image


def encoded_variants():
    image = noise(120, 150, 3, 3)
    gray = noise(120, 150, 1, 4)
    yield "gray jpeg", jpeg(gray)
    yield "cmyk jpeg", jpeg(image.convert("CMYK"))
    yield "restart markers", jpeg(image, restart_marker_rows=1)
    yield "png", png(image)
    yield "gray png", png(gray)
    yield "palette png", png(image.quantize(64))
    yield "bilevel png", png(gray.convert("1"))
    yield "alpha png", png(Image.merge("RGBA", [*image.split(), gray]))
    yield "gray alpha png", png(Image.merge("LA", [gray, gray]))
    for side in (1, 2, 7, 8, 9):
        yield f"{side} pixels wide", jpeg(noise(40, side, 3, side), subsampling="4:2:0")


VARIANTS = dict(encoded_variants())


@pytest.mark.parametrize(("name", "data"), list(VARIANTS.items()), ids=list(VARIANTS))
@pytest.mark.parametrize("pipeline", ["imagenet train v1", "imagenet val v2 bicubic"])
def test_every_kind_of_file(name, data, pipeline):
    transform, nodes = PIPELINES[pipeline]
    for seed in range(5):
        check_file(nodes, transform, data, seed)


def test_exif_orientation_is_ignored_as_pil_ignores_it():
    exif = Image.Exif()
    exif[0x0112] = 6
    transform, nodes = PIPELINES["imagenet train v1"]
    check_file(nodes, transform, jpeg(noise(60, 90, 3, 5), exif=exif), 1)


@examples(100)
@given(st.integers(0, 999), st.sampled_from([1, 2]), st.integers(0, SEEDS))
def test_cifar_train(image_seed, api, seed):
    t = {1: v1, 2: v2}[api]
    transform = v1.Compose(
        [
            t.RandomCrop(32, padding=4),
            t.RandomHorizontalFlip(),
            v1.ToTensor(),
            v1.Normalize(MEAN, STD),
        ]
    )
    nodes = [
        ("random_crop", {"size": 32, "padding": 4, "api": api}),
        ("random_horizontal_flip", {}),
        ("to_tensor", {}),
        NORMALIZE,
    ]
    check_image(nodes, transform, noise(32, 32, 3, image_seed), seed)


@given(st.integers(0, 999), st.integers(0, SEEDS))
def test_cifar_train_v2_on_tensors(image_seed, seed):
    transform = v2.Compose(
        [v2.ToImage(), v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip(), *V2_END[1:]]
    )
    nodes = [
        ("to_image", {}),
        ("random_crop", {"size": 32, "padding": 4, "api": 2}),
        ("random_horizontal_flip", {}),
        *V2_END_NODES[1:],
    ]
    check_image(nodes, transform, noise(32, 32, 3, image_seed), seed)


def test_mnist():
    transform = v1.Compose([v1.ToTensor(), v1.Normalize((0.1307,), (0.3081,))])
    nodes = [("to_tensor", {}), ("normalize", {"mean": [0.1307], "std": [0.3081]})]
    check_image(nodes, transform, noise(28, 28, 1, 1), 0)


def test_damaged_files_never_make_other_pixels():
    transform, nodes = PIPELINES["imagenet train v1"]
    chain = compile_chain([("decode", {}), *nodes])
    for whole in (jpeg(noise(100, 120, 3, 6)), png(noise(100, 120, 3, 7))):
        for cut in (10, len(whole) // 3, len(whole) - 20):
            with pytest.raises(native.Error, match="DataLoss|Unsupported"):
                chain.run(whole[:cut], 3)
    with pytest.raises(native.Error, match="DataLoss|Unsupported"):
        chain.run(b"not an image at all", 3)


def test_parameters_of_another_image_are_refused():
    _, nodes = PIPELINES["imagenet train v1"]
    chain = compile_chain([("decode", {}), *nodes])
    small, large = jpeg(noise(20, 20, 3, 8)), jpeg(noise(300, 300, 3, 9))
    params, _ = chain.draw([(300, 300)], 1)
    chain.run_params(large, params[0])
    with pytest.raises(native.Error, match="InvalidArgument"):
        chain.run_params(small, params[0])
    with pytest.raises(native.Error, match="parameter words"):
        chain.run_params(large, params[0][:2])
    other = compile_chain([("decode", {}), ("resize", {"size": 9}), ("to_tensor", {})])
    with pytest.raises(native.Error, match="DataLoss: cached sample is of another pipeline"):
        other.run_cached(chain.prefix(large), 1)
    with pytest.raises(native.Error, match="DataLoss"):
        chain.run_cached(chain.prefix(large)[:-1], 1)


HERE = Path(__file__).parent
OLD_PILLOW = os.environ.get("HEADRACE_TEST_PILLOW_OLD", "")


def run_again(environment: dict[str, str], *tests: str) -> None:
    """Some of these tests in a process of their own."""
    code = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        + ["--confcutdir", str(HERE.parents[1]), *tests],
        cwd=HERE,
        env={**os.environ, "HEADRACE_BUILD_DIR": str(BUILD), **environment},
        capture_output=True,
        text=True,
    )
    assert code.returncode == 0, code.stdout[-4000:]


# Its tests take more than a minute each time that they run again.
AUGMENT = pytest.param("test_augment.py", marks=pytest.mark.full)


@pytest.mark.slow
@pytest.mark.skipif(not OLD_PILLOW, reason="HEADRACE_TEST_PILLOW_OLD names no Pillow 12")
@pytest.mark.parametrize(
    "file",
    [
        "test_pipelines.py",
        "test_operators.py",
        AUGMENT,
        "test_pil_steps.py",
        "test_windows.py",
        "test_element_types.py",
    ],
)
def test_the_same_with_an_older_pillow(file):
    path = os.pathsep.join(filter(None, [OLD_PILLOW, os.environ.get("PYTHONPATH")]))
    old = {"PYTHONPATH": path, "HEADRACE_TEST_PILLOW_OLD": "", "HEADRACE_EXPECT_PILLOW": "12."}
    run_again(old, file, "-m", "not slow")


@pytest.mark.slow
@pytest.mark.parametrize("file", ["test_generator.py", "test_operators.py", AUGMENT])
def test_the_same_with_torchs_default_cpu_capability(file):
    """Its uniform_ rounds twice."""
    names = "random or draws or stream or lanes or exp or augment or pixels"
    run_again({"ATEN_CPU_CAPABILITY": "default"}, file, "-m", "not slow", "-k", names)


def test_the_pillow_under_test_is_the_expected_one():
    assert Image.__version__.startswith(os.environ.get("HEADRACE_EXPECT_PILLOW", ""))
    assert np.asarray(noise(2, 3, 3, 0)).shape == (2, 3, 3)
