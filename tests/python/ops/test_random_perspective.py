"""RandomPerspective equals torchvision's bit for bit, in v1 and v2, on PIL images."""

import multiprocessing
import random

import numpy as np
import pytest
import torch
from headrace.native.transforms import node_of, nodes_of
from hypothesis import given
from hypothesis import strategies as st
from support.extent import examples
from support.image_strategies import APIS, apis, fills, images, seeds
from support.operators import check_file, check_image, compile_chain, jpeg, native, noise, png
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.functional import _get_perspective_coeffs

MODES = [
    InterpolationMode.NEAREST,
    InterpolationMode.BILINEAR,
    InterpolationMode.BICUBIC,
    InterpolationMode.NEAREST_EXACT,
]


def chain_of(*transforms):
    return [(node.op, node.args) for node in map(node_of, transforms)]


@examples(400)
@given(
    st.data(), images(), apis, st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0, 1.0]),
    st.sampled_from(MODES), seeds,
)  # fmt: skip
def test_random_perspective(data, image, api, distortion, p, mode, seed):
    fill = data.draw(fills(image, one=False)) or 0
    transform = APIS[api].RandomPerspective(distortion, p, mode, fill)
    nodes = chain_of(transform)
    assert nodes[0][0] == "random_perspective"
    try:
        check_image(nodes, transform, image, seed)
    except native.Error as refused:
        # Small images: the trainer makes the sample, or raises.
        assert "corners of an image lie on a line" in str(refused)
        assert min(image.size) < 60
    except RuntimeError as raised:  # torch finds no solution, nor do we
        assert "least squares" in str(raised)
        with pytest.raises(native.Error, match="lie on a line"):
            chain = compile_chain([("from_array", {"mode": image.mode}), *nodes])
            chain.run(np.ascontiguousarray(np.asarray(image)), seed)


@pytest.mark.parametrize("api", [1, 2])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(224, 224), (375, 500), (700, 403)])
def test_sizes_of_programs(api, mode, shape):
    for seed in range(3):
        image = noise(*shape, 3, seed)
        transform = APIS[api].RandomPerspective(0.6, 1.0, mode)
        check_image(chain_of(transform), transform, image, seed)


@pytest.mark.parametrize("api", [1, 2])
def test_in_a_pipeline_from_a_file(api):
    """The crop after it makes a part; torchvision makes all of it."""
    lib = APIS[api]
    steps = [
        lib.Resize(150),
        lib.RandomPerspective(0.3, 0.7, fill=(1, 2, 3)),
        lib.RandomHorizontalFlip(),
        lib.RandomCrop(96, padding=4),
        lib.ColorJitter(0.4, 0.4),
        lib.PILToTensor(),
    ]
    for seed, write in zip(range(30), [jpeg, png] * 15, strict=True):
        data = write(noise(170, 210, 3, seed))
        check_file(chain_of(*steps), v1.Compose(steps), data, seed)


def quads(count, seed):
    """Corners as torchvision draws them."""
    rng = random.Random(seed)
    for _ in range(count):
        width, height = rng.randint(8, 900), rng.randint(8, 900)
        distortion = rng.random()
        x, y = int(distortion * (width // 2)) + 1, int(distortion * (height // 2)) + 1
        start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        end = [
            [rng.randrange(x), rng.randrange(y)],
            [rng.randrange(width - x, width), rng.randrange(y)],
            [rng.randrange(width - x, width), rng.randrange(height - y, height)],
            [rng.randrange(x), rng.randrange(height - y, height)],
        ]
        yield start, end


def solve(threads, seed, out=None):
    torch.set_num_threads(threads)
    solved = [
        np.array(_get_perspective_coeffs(start, end), np.float32).tobytes()
        for start, end in quads(3000, seed)
    ]
    if out is not None:
        out.put(solved)
    return solved


def test_coefficients_are_those_of_a_loaders_worker():
    """The planner draws in the trainer, which has threads. A stock loader's worker is a fork with one."""
    before = torch.get_num_threads()
    try:
        here = [solve(threads, 5) for threads in (1, 2, 4)]
    finally:
        torch.set_num_threads(before)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    worker = context.Process(target=solve, args=(1, 5, queue))
    worker.start()
    there = queue.get()
    worker.join()
    assert here == [there] * 3


@pytest.mark.parametrize("api", [1, 2])
def test_every_coefficient_of_many_draws(api):
    (op, args), = chain_of(APIS[api].RandomPerspective(0.5, 1.0))  # fmt: skip
    chain = compile_chain([("decode", {}), (op, args)])
    drawn, _ = chain.draw([(300, 400)] * 5000, 7)
    torch.manual_seed(7)
    for params in drawn:
        assert params[0] == 1 and torch.rand(1) < 1.0
        corners = v1.RandomPerspective.get_params(400, 300, 0.5)
        expected = np.array(_get_perspective_coeffs(*corners), np.float32)
        assert np.array(params[1:], np.int32).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "first, transform, reason",
    [
        ([], v1.RandomPerspective(interpolation=InterpolationMode.LANCZOS), "nearest, bilinear"),
        ([], v2.RandomPerspective(fill=300), "not a value of the image"),
        ([v1.PILToTensor()], v1.RandomPerspective(), "multiplies matrices"),
    ],
)
def test_what_has_no_native_form_says_so(first, transform, reason):
    with pytest.raises(native.Error, match=reason):
        compile_chain([("from_array", {"mode": "RGB"}), *chain_of(*first, transform)])


def test_capture_makes_the_node():
    node = nodes_of(v1.Compose([v2.RandomPerspective(0.2, 0.9), v1.PILToTensor()]))[0]
    assert node.purity == "random"
    assert node.args == {
        "distortion_scale": 0.2, "p": 0.9, "interpolation": "bilinear", "fill": [0.0],
    } or node.args["fill"] == 0.0  # fmt: skip
